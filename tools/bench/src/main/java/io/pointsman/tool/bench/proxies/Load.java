package io.pointsman.tool.bench.proxies;

import io.pointsman.tool.bench.contender.ChildProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Runs the native load generator. */
final class Load {
  /** Number of loopback source addresses; one address has too few ports. */
  private static final int SOURCES = 8;

  /** Time in seconds for which the generator keeps its connections open; it is stopped earlier. */
  private static final int LINGER = 30;

  private static final int POOL_BYTES = 16 << 20;

  /** Number of distinct prompts if prompts share a prefix. */
  private static final int SHARED_PREFIXES = 64;

  private final NativeTools tools;
  private final Duration measured;
  private final String key;

  /** Actions during the measurement, on the thread that waits for the generator. */
  interface Window {
    void begin() throws IOException;

    void middle() throws IOException;

    /** Called at the end, while connections are open and streams run. */
    void end() throws IOException;
  }

  /**
   * Creates a generator.
   *
   * @param key key of each request; empty: none
   */
  Load(NativeTools tools, Duration measured, String key) {
    this.tools = tools;
    this.measured = measured;
    this.key = key;
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
    // Number of texts. A number makes each request distinct: at the start, or at the end if prompts
    // share a prefix.
    boolean shared = workload.kind() == Workload.Kind.SHARED_PREFIX;
    int texts = shared ? SHARED_PREFIXES : Math.clamp(POOL_BYTES / workload.size(), 64, 1024);
    add(line, "--pool", texts);
    add(line, "--sources", connections > 5_000 ? SOURCES : 1);
    add(line, "--warmup", warmup.toMillis() / 1000.0);
    add(line, "--seconds", measured.toMillis() / 1000.0);
    add(line, "--linger", LINGER);
    if (!key.isEmpty()) {
      add(line, "--key", key);
    }
    if (shared) {
      add(line, "--splice", "end");
    }
    if (workload.kind() == Workload.Kind.OPEN_LOOP) {
      add(line, "--rate", Workload.OPEN_LOOP_RATE);
    }
    if (workload.isStreaming()) {
      add(line, "--chunks", workload.chunks());
      add(line, "--gap-us", workload.gapMicros());
      // Streams start staggered, so they are not in phase.
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
