package io.pointsman.bench;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A router under test, run as a process of its own, as users run it. Its output goes to a file;
 * closing ends it.
 */
final class RouterProcess implements AutoCloseable {
  private static final Duration START_LIMIT = Duration.ofSeconds(60);

  private final Process process;
  private final Path log;
  private final String url;

  private RouterProcess(Process process, Path log, String url) {
    this.process = process;
    this.log = log;
    this.url = url;
  }

  /**
   * Starts {@code command} and waits until {@code readyPath} answers 200.
   *
   * @param port where the command was told to listen
   * @throws IOException if it does not become ready within a minute; the message carries its output
   */
  static RouterProcess start(List<String> command, int port, String readyPath)
      throws IOException, InterruptedException {
    Path log = Files.createTempFile("pointsman-bench-router", ".log");
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    RouterProcess router = new RouterProcess(process, log, "http://127.0.0.1:" + port);
    try {
      router.awaitReady(readyPath);
    } catch (IOException e) {
      String output = Files.readString(log);
      router.close();
      throw new IOException(String.join(" ", command) + "\n" + output, e);
    }
    return router;
  }

  /** A port that was free a moment ago. */
  static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  String url() {
    return url;
  }

  private void awaitReady(String path) throws IOException, InterruptedException {
    long end = System.nanoTime() + START_LIMIT.toNanos();
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpRequest probe =
          HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(2)).build();
      while (System.nanoTime() - end < 0 && process.isAlive()) {
        if (answersOk(client, probe)) {
          return;
        }
        TimeUnit.MILLISECONDS.sleep(50);
      }
    }
    throw new IOException("not ready: " + url + path);
  }

  private static boolean answersOk(HttpClient client, HttpRequest probe)
      throws InterruptedException {
    try {
      return client.send(probe, BodyHandlers.discarding()).statusCode() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroy);
    process.destroy();
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
      Files.deleteIfExists(log);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
