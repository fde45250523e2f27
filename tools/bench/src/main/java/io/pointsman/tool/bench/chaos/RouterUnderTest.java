package io.pointsman.tool.bench.chaos;

import io.pointsman.tool.sim.FreePorts;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A router in a process of its own, observed by its metrics. */
final class RouterUnderTest implements AutoCloseable {
  /**
   * Flags besides the defaults. Failed engines are retried after 1 s, so every engine returns
   * within a run. The prefix index is small, so it is full within minutes and then stays constant.
   */
  private static final List<String> FLAGS =
      List.of(
          "--health-interval=1s",
          "--retry-after-timeout=true",
          "--breaker-open-for=1s",
          "--cache-index-max-bytes=1MiB");

  private static final long START_SECONDS = 60;
  private static final Pattern SERIES =
      Pattern.compile("^([a-z_]+)(?:\\{([^}]*)})? ([0-9.eE+-]+|NaN)$", Pattern.MULTILINE);

  private final Child process;
  private final Path log;
  private final int port;
  private final int metricsPort;
  private final int adminPort;
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(5))
          .build();

  private RouterUnderTest(Child process, Path log, int port, int metricsPort, int adminPort) {
    this.process = process;
    this.log = log;
    this.port = port;
    this.metricsPort = metricsPort;
    this.adminPort = adminPort;
  }

  /**
   * Starts {@code command} in front of {@code workers} and waits until all are available.
   *
   * @param command command that starts the router, up to and including {@code serve}
   * @param patienceSeconds silence limit of the router in seconds
   * @throws IOException if the router does not become ready; the message contains its log
   */
  static RouterUnderTest start(
      List<String> command, List<String> workers, int patienceSeconds, Path log)
      throws IOException, InterruptedException {
    int port = FreePorts.next();
    int metricsPort = FreePorts.next();
    int adminPort = FreePorts.next();
    List<String> line = new ArrayList<>(command);
    line.addAll(List.of("--host", "127.0.0.1", "--port", "" + port));
    line.addAll(List.of("--admin-port", "" + adminPort));
    line.addAll(List.of("--metrics-port", "" + metricsPort, "--log-level", "warn"));
    line.addAll(List.of("--workers", String.join(",", workers)));
    line.addAll(FLAGS);
    line.addAll(patience(patienceSeconds));
    ProcessBuilder builder = new ProcessBuilder(line);
    // Enables the JVM's report of memory outside of the heap.
    builder.environment().put("JDK_JAVA_OPTIONS", "-XX:NativeMemoryTracking=summary");
    RouterUnderTest router =
        new RouterUnderTest(Child.logging(builder, log), log, port, metricsPort, adminPort);
    try {
      router.awaitAvailable(workers.size());
    } catch (IOException e) {
      router.close();
      throw new IOException(String.join(" ", line) + "\n" + Files.readString(log), e);
    }
    return router;
  }

  /** Timeout flags: the silence limit for responses, and a third of it for connecting. */
  private static List<String> patience(int seconds) {
    int third = Math.max(1, seconds / 3);
    return List.of(
        "--health-timeout=" + third + "s",
        "--timeouts-connect=" + third + "s",
        "--timeouts-first-byte=" + seconds + "s",
        "--timeouts-idle=" + seconds + "s");
  }

  private void awaitAvailable(int workers) throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (System.nanoTime() - end < 0 && process.isAlive()) {
      try {
        if (knowModel() == workers
            && metrics().sum("pointsman_workers", "state=\"available\"") == workers) {
          return;
        }
      } catch (IOException notYet) {
        // The loop asks again until the time limit.
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
    throw new IOException("the router does not become ready");
  }

  /** Number of workers with a known model. */
  private long knowModel() throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + adminPort + "/workers"))
            .timeout(Duration.ofSeconds(20))
            .build();
    String workers = client.send(request, BodyHandlers.ofString()).body();
    return Pattern.compile("\"model_id\" ?: ?\"" + Traffic.MODEL + "\"")
        .matcher(workers)
        .results()
        .count();
  }

  String url() {
    return "http://127.0.0.1:" + port;
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Output of the router process. */
  String log() throws IOException {
    return Files.readString(log);
  }

  /** Reads the current metrics. */
  Metrics metrics() throws IOException, InterruptedException {
    URI uri = URI.create("http://127.0.0.1:" + metricsPort + "/metrics");
    HttpRequest request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(20)).build();
    return new Metrics(client.send(request, BodyHandlers.ofString()).body());
  }

  /** Runs a full garbage collection in the router. */
  void collectGarbage() throws IOException, InterruptedException {
    jcmd("GC.run");
  }

  /** Memory that the router allocated outside of the heap, mainly buffers, in bytes. */
  double directBytes() throws IOException, InterruptedException {
    String memory = jcmd("VM.native_memory");
    Matcher other = Pattern.compile("Other \\(reserved=\\d+KB, committed=(\\d+)KB").matcher(memory);
    if (!other.find()) {
      throw new IOException("VM.native_memory: no line of Other: " + memory);
    }
    return 1024.0 * Long.parseLong(other.group(1));
  }

  private String jcmd(String command) throws IOException, InterruptedException {
    Path jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd");
    Process asking =
        new ProcessBuilder(jcmd.toString(), "" + process.pid(), command)
            .redirectErrorStream(true)
            .start();
    String answer = new String(asking.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    int code = asking.waitFor();
    if (code != 0) {
      throw new IOException("jcmd " + command + ": " + code + " (expected: 0): " + answer);
    }
    return answer;
  }

  @Override
  public void close() {
    client.close();
    process.close();
  }

  /** Content of one metrics response. */
  record Metrics(String page) {
    /**
     * Sum of the series of {@code name} with a label text that contains {@code label}.
     *
     * @throws IOException if the page has no series of that name; a missing series differs from 0
     */
    double sum(String name, String label) throws IOException {
      double sum = 0;
      boolean found = false;
      Matcher series = SERIES.matcher(page);
      while (series.find()) {
        String labels = series.group(2) == null ? "" : series.group(2);
        found |= series.group(1).equals(name);
        if (series.group(1).equals(name) && labels.contains(label)) {
          sum += Double.parseDouble(series.group(3));
        }
      }
      if (!found) {
        throw new IOException(name + ": missing (expected: a metric of the router)");
      }
      return sum;
    }

    /** Series of {@code name} with a value other than 0, by their labels. */
    TreeMap<String, Long> byLabels(String name) {
      TreeMap<String, Long> found = new TreeMap<>();
      Matcher series = SERIES.matcher(page);
      while (series.find()) {
        double value = Double.parseDouble(series.group(3));
        if (series.group(1).equals(name) && series.group(2) != null && value != 0) {
          found.put(series.group(2), (long) value);
        }
      }
      return found;
    }
  }
}
