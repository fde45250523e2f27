package io.pointsman.tool.bench.contender;

import io.pointsman.tool.bench.contender.Contender.LaunchCommand;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A contender in a process of its own. Its files and its output are in a temporary directory;
 * {@link #close} deletes it.
 */
public final class ContenderProcess implements AutoCloseable {
  private static final int REPLY_LIMIT_MILLIS = 5_000;

  private final ChildProcess process;
  private final StartParameters place;
  private final List<String> command;
  private final String key;
  private final long startedNanos;

  private ContenderProcess(
      ChildProcess process,
      StartParameters place,
      List<String> command,
      String key,
      long startedNanos) {
    this.process = process;
    this.place = place;
    this.command = command;
    this.key = key;
    this.startedNanos = startedNanos;
  }

  /**
   * Starts {@code contender} and returns before it is ready.
   *
   * @param workers URLs of the workers behind it
   * @param pinned numbers of the permitted cores; empty: all
   * @param cores number of these cores
   * @param streams number of concurrent streams that it must support
   */
  public static ContenderProcess start(
      Contender contender, List<String> workers, String pinned, int cores, int streams)
      throws IOException {
    Path directory = Files.createTempDirectory("pointsman-bench");
    StartParameters place = StartParameters.of(workers, cores, streams, directory);
    LaunchCommand launch = contender.launcher().launch(place);
    long started = System.nanoTime();
    ChildProcess process =
        ChildProcess.start(launch.command(), launch.environment(), pinned, output(directory));
    return new ContenderProcess(process, place, launch.command(), contender.key(), started);
  }

  public String url() {
    return "http://127.0.0.1:" + place.port();
  }

  public int port() {
    return place.port();
  }

  /** Port of its metrics, if it has one. */
  public int metricsPort() {
    return place.metricsPort();
  }

  public ProcessTree tree() {
    return process.tree();
  }

  /**
   * Waits until a GET of {@code path} returns 200.
   *
   * @throws IOException if the process ends, or is not ready within {@code limit} of its start
   */
  public void awaitReady(String path, Duration limit) throws IOException, InterruptedException {
    await("GET " + path + " HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n", limit);
  }

  /**
   * Waits until a chat request returns 200.
   *
   * @return time since the start of the process in milliseconds
   * @throws IOException if the process ends, or is not ready within {@code limit} of its start
   */
  public double awaitRouted(String body, Duration limit) throws IOException, InterruptedException {
    await(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            + (key.isEmpty() ? "" : "Authorization: Bearer " + key + "\r\n")
            + "Connection: close\r\nContent-Length: "
            + body.getBytes(StandardCharsets.UTF_8).length
            + "\r\n\r\n"
            + body,
        limit);
    return (System.nanoTime() - startedNanos) / 1e6;
  }

  private void await(String request, Duration limit) throws IOException, InterruptedException {
    String last = "no connection";
    while (System.nanoTime() - startedNanos < limit.toNanos() && process.process().isAlive()) {
      last = statusLine(request);
      if (last.startsWith("HTTP/1.1 200")) {
        return;
      }
      // Start times need a fine resolution; slow starters need only a coarse one.
      boolean young = System.nanoTime() - startedNanos < TimeUnit.SECONDS.toNanos(3);
      TimeUnit.MILLISECONDS.sleep(young ? 2 : 50);
    }
    String how = process.process().isAlive() ? "not ready: " + last : "ended";
    String line = String.join(" ", command);
    String shown = line.length() > 300 ? line.substring(0, 300) + " ..." : line;
    throw new IOException(how + "; " + shown + "\n" + output());
  }

  private String statusLine(String request) {
    try (Socket socket = new Socket()) {
      socket.setSoTimeout(REPLY_LIMIT_MILLIS);
      socket.connect(
          new InetSocketAddress(InetAddress.getLoopbackAddress(), place.port()),
          REPLY_LIMIT_MILLIS);
      socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
      InputStream in = socket.getInputStream();
      return new String(in.readNBytes(12), StandardCharsets.US_ASCII);
    } catch (IOException e) {
      return String.valueOf(e.getMessage());
    }
  }

  private static Path output(Path directory) {
    return directory.resolve("output.log");
  }

  /** Last 2,000 characters of its output. */
  private String output() throws IOException {
    String all = Files.readString(output(place.directory()), StandardCharsets.ISO_8859_1);
    return all.substring(Math.max(0, all.length() - 2_000));
  }

  @Override
  public void close() {
    process.close();
    try (Stream<Path> files = Files.walk(place.directory())) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
