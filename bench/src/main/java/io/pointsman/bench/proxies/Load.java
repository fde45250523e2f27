package io.pointsman.bench.proxies;

import io.pointsman.bench.contender.ChildProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The native load generator, run once. */
final class Load {
  /** Addresses of this machine from which connections come, for more ports than one has. */
  private static final int SOURCES = 8;

  /** Seconds for which the generator keeps its connections; it is ended before. */
  private static final int LINGER = 30;

  private static final int POOL_BYTES = 16 << 20;

  /** Conversations that go on, where prompts have a prefix in common. */
  private static final int SHARED_PREFIXES = 64;

  private final NativeTools tools;
  private final Duration measured;

  /** What is done around the measurement, by the thread that waits for the generator. */
  interface Window {
    void begin() throws IOException;

    void middle() throws IOException;

    /** The connections are still open, and streams still run. */
    void end() throws IOException;
  }

  Load(NativeTools tools, Duration measured) {
    this.tools = tools;
    this.measured = measured;
  }

  LoadResult run(Workload workload, int port, String cores, Duration warmup, Window window)
      throws IOException, InterruptedException {
    Path errors = Files.createTempFile("pointsman-bench-load", ".log");
    List<String> line = line(workload, port, warmup);
    try (ChildProcess process = ChildProcess.startReadable(line, cores, errors);
        BufferedReader out = process.process().inputReader()) {
      if (!"begin".equals(out.readLine())) {
        throw new IOException("load: " + Files.readString(errors).strip());
      }
      window.begin();
      Thread.sleep(measured.dividedBy(2));
      window.middle();
      String result = out.readLine();
      window.end();
      if (result == null) {
        throw new IOException("load: " + Files.readString(errors).strip());
      }
      return LoadResult.parse(result);
    } finally {
      Files.deleteIfExists(errors);
    }
  }

  private List<String> line(Workload workload, int port, Duration warmup) {
    String mode =
        switch (workload.kind()) {
          case UNARY, SHARED_PREFIX -> "unary";
          case OPEN_LOOP -> "rate";
          case STREAMS -> "sse";
          case MEMORY -> "hold";
          case START_UP -> throw new IllegalArgumentException("start: has no load");
        };
    List<String> line = new ArrayList<>(List.of(tools.load(), mode));
    int connections = workload.connections();
    add(line, "--target", "127.0.0.1:" + port);
    add(line, "--connections", connections);
    add(line, "--size", workload.size());
    // Texts; a number at the front makes each request another one, or at the end where a prefix is
    // shared.
    boolean shared = workload.kind() == Workload.Kind.SHARED_PREFIX;
    int texts = shared ? SHARED_PREFIXES : Math.clamp(POOL_BYTES / workload.size(), 64, 1024);
    add(line, "--pool", texts);
    add(line, "--sources", connections > 5_000 ? SOURCES : 1);
    add(line, "--warmup", warmup.toMillis() / 1000.0);
    add(line, "--seconds", measured.toMillis() / 1000.0);
    add(line, "--linger", LINGER);
    if (shared) {
      add(line, "--splice", "end");
    }
    if (workload.kind() == Workload.Kind.OPEN_LOOP) {
      add(line, "--rate", Workload.OPEN_LOOP_RATE);
    }
    if (workload.isStreaming()) {
      add(line, "--chunks", workload.chunks());
      add(line, "--gap-us", workload.gapMicros());
      // Not all at once, so that streams are out of step with each other.
      add(line, "--ramp", connections / 2_000.0);
      add(line, "--timeout", 30);
    }
    return line;
  }

  private static void add(List<String> line, String option, Object value) {
    line.add(option);
    line.add(value.toString());
  }
}
