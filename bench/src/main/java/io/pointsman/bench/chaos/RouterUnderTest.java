package io.pointsman.bench.chaos;

import io.pointsman.sim.FreePorts;
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

/** The router as a process of its own, seen through its metrics. */
final class RouterUnderTest implements AutoCloseable {
  /**
   * Beside the defaults: what fails is tried again after a second, so that every engine is back
   * within a run. The index of prefixes is small, so that it is full, and grows no more, within
   * minutes.
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
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(5))
          .build();

  private RouterUnderTest(Child process, Path log, int port, int metricsPort) {
    this.process = process;
    this.log = log;
    this.port = port;
    this.metricsPort = metricsPort;
  }

  /**
   * Starts {@code command} in front of {@code workers} and waits until all of them are available.
   *
   * @param command what runs the router, up to and with {@code serve}
   * @param patienceSeconds after which the router gives up what is silent
   */
  static RouterUnderTest start(
      List<String> command, List<String> workers, int patienceSeconds, Path log)
      throws IOException, InterruptedException {
    int port = FreePorts.next();
    int metricsPort = FreePorts.next();
    List<String> line = new ArrayList<>(command);
    line.addAll(List.of("--host", "127.0.0.1", "--port", "" + port));
    line.addAll(List.of("--metrics-port", "" + metricsPort, "--log-level", "warn"));
    line.addAll(List.of("--workers", String.join(",", workers)));
    line.addAll(FLAGS);
    line.addAll(patience(patienceSeconds));
    ProcessBuilder builder = new ProcessBuilder(line);
    // So that memory outside of the heap can be asked for.
    builder.environment().put("JDK_JAVA_OPTIONS", "-XX:NativeMemoryTracking=summary");
    RouterUnderTest router =
        new RouterUnderTest(Child.logging(builder, log), log, port, metricsPort);
    try {
      router.awaitAvailable(workers.size());
    } catch (IOException e) {
      router.close();
      throw new IOException(String.join(" ", line) + "\n" + Files.readString(log), e);
    }
    return router;
  }

  /**
   * Beside the defaults: what is silent is given up after so many seconds, and a connection that
   * does not come about after a third of them.
   */
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
        // Asked again until the time is over.
      }
      TimeUnit.MILLISECONDS.sleep(50);
    }
    throw new IOException("the router does not become ready");
  }

  /** How many workers are known to serve the model. */
  private long knowModel() throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url() + "/workers"))
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

  /** What the router wrote. */
  String log() throws IOException {
    return Files.readString(log);
  }

  /** What it shows of itself now. */
  Metrics metrics() throws IOException, InterruptedException {
    URI uri = URI.create("http://127.0.0.1:" + metricsPort + "/metrics");
    HttpRequest request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(20)).build();
    return new Metrics(client.send(request, BodyHandlers.ofString()).body());
  }

  /** Makes it collect garbage. */
  void collectGarbage() throws IOException, InterruptedException {
    jcmd("GC.run");
  }

  /** Memory that it allocated outside of the heap, buffers above all, in bytes. */
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

  /** A page of metrics. */
  record Metrics(String page) {
    /**
     * The sum of the series of {@code name} whose labels contain {@code label}.
     *
     * @throws IOException if the page has no series of that name, which is not the same as 0
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

    /** The series of {@code name} that are not 0, by their labels. */
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
