package io.pointsman.tool.bench.picks;

import io.pointsman.tool.bench.contender.ChildProcess;
import io.pointsman.tool.bench.contender.ContenderProcess;
import io.pointsman.tool.bench.contender.Contenders;
import io.pointsman.tool.bench.proxies.NativeBackend;
import io.pointsman.tool.bench.proxies.NativeTools;
import io.pointsman.tool.sim.FreePorts;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The processes of a measurement: two workers that answer at once, the router, and its callers. */
final class PicksRig implements AutoCloseable {
  static final String MODEL = "bench-model";

  private static final int WORKERS = 2;
  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final int STEP_MILLIS = 50;
  private static final int OUTPUT_SHOWN = 2_000;
  private static final String BODY =
      "{\"model\":\"" + MODEL + "\",\"messages\":[{\"role\":\"user\",\"content\":\"up?\"}]}";
  private static final byte[] CHAT = RayPrompts.request("/v1/chat/completions", BODY);

  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final Map<PickMethod, Integer> ports = new EnumMap<>(PickMethod.class);

  private PicksRig() {}

  /**
   * Starts the processes for {@code ways} and waits until all of them answer.
   *
   * @param start first words of the command line of this program
   */
  static PicksRig start(Path home, List<String> start, String policy, List<PickMethod> ways)
      throws IOException, InterruptedException {
    PicksRig rig = new PicksRig();
    try {
      rig.open(home, start, policy, ways);
      return rig;
    } catch (IOException | InterruptedException | RuntimeException e) {
      rig.close();
      throw e;
    }
  }

  private void open(Path home, List<String> start, String policy, List<PickMethod> ways)
      throws IOException, InterruptedException {
    NativeBackend backend = NativeBackend.start(NativeTools.build(home), WORKERS, "");
    opened.push(backend);
    int router = FreePorts.next();
    int admin = FreePorts.next();
    String spoe = "127.0.0.1:" + FreePorts.next();
    List<String> serve = new ArrayList<>(start);
    serve.addAll(List.of("serve", "--policy", policy, "--log-level", "error"));
    serve.addAll(List.of("--port", "" + router, "--metrics-port", "0"));
    serve.addAll(List.of("--admin-port", "" + admin, "--decide-spoe-address", spoe));
    serve.addAll(List.of("--workers", String.join(",", backend.urls())));
    process("router", serve).awaitAnswer(router, "");
    for (PickMethod way : ways) {
      ports.put(way, port(way, home, start, backend, router, admin, spoe));
    }
  }

  private int port(
      PickMethod way,
      Path home,
      List<String> start,
      NativeBackend backend,
      int router,
      int admin,
      String spoe)
      throws IOException, InterruptedException {
    return switch (way) {
      case DIRECT -> URI.create(backend.urls().getFirst()).getPort();
      case PROXY -> router;
      case DECIDE, LEASE, ROUTE -> admin;
      case HAPROXY -> plain(home, backend);
      case HAPROXY_SPOE -> asking(way, start, admin, List.of("--spoe", spoe));
    };
  }

  private int plain(Path home, NativeBackend backend) throws IOException, InterruptedException {
    ContenderProcess plain =
        ContenderProcess.start(
            new Contenders(home)
                .all().stream().filter(each -> each.name().equals("haproxy")).findFirst().get(),
            backend.urls(),
            "",
            Runtime.getRuntime().availableProcessors(),
            4096);
    opened.push(plain);
    plain.awaitRouted(BODY, START_LIMIT);
    return plain.port();
  }

  private int asking(PickMethod way, List<String> start, int router, List<String> more)
      throws IOException, InterruptedException {
    int port = FreePorts.next();
    List<String> line = new ArrayList<>(start);
    line.addAll(List.of("haproxy", "--listen", "127.0.0.1:" + port));
    line.addAll(List.of("--router", "http://127.0.0.1:" + router));
    line.addAll(more);
    process(way.label(), line).awaitAnswer(port, "x-pointsman-worker:");
    return port;
  }

  private Started process(String name, List<String> line) throws IOException {
    Path log = Files.createTempFile("pointsman-bench-" + name, ".log");
    opened.push(() -> Files.deleteIfExists(log));
    ChildProcess child = ChildProcess.start(line, Map.of(), "", log);
    opened.push(child);
    // Pushed last, so ended first and gently: the process then deletes its files.
    opened.push(() -> end(child.process()));
    return new Started(name, child.process(), log);
  }

  private static void end(Process process) throws InterruptedException {
    process.destroy();
    process.waitFor(10, TimeUnit.SECONDS);
  }

  /** Port for the requests of a way. */
  int port(PickMethod way) {
    return ports.getOrDefault(way, 0);
  }

  @Override
  public void close() {
    while (!opened.isEmpty()) {
      try {
        opened.pop().close();
      } catch (Exception e) {
        System.err.println("not closed cleanly: " + e);
      }
    }
  }

  private record Started(String name, Process process, Path log) {
    /**
     * Waits until a chat returns 200 with this text in its head or body.
     *
     * @throws IOException if the process ends or the time limit is reached
     */
    void awaitAnswer(int port, String header) throws IOException, InterruptedException {
      long begin = System.nanoTime();
      String last = "nothing";
      while (process.isAlive() && System.nanoTime() - begin < START_LIMIT.toNanos()) {
        try (PickCaller caller = new PickCaller(port)) {
          last = caller.call(CHAT);
          if (last.contains(header)) {
            return;
          }
        } catch (IOException e) {
          last = e.toString();
        }
        TimeUnit.MILLISECONDS.sleep(STEP_MILLIS);
      }
      String how = process.isAlive() ? "does not answer as it should: " + last : "ended";
      throw new IOException(name + ": " + how + "\n" + output());
    }

    /** Last 2,000 characters of its output. */
    private String output() throws IOException {
      String all = Files.readString(log, StandardCharsets.ISO_8859_1);
      return all.substring(Math.max(0, all.length() - OUTPUT_SHOWN));
    }
  }
}
