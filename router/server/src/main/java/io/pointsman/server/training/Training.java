package io.pointsman.server.training;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Runs a router for a moment in front of two engines with fixed answers. The launcher records the
 * classes that this router loads. Later routers map them instead of loading them again.
 */
public final class Training {
  private static final int ROUNDS = 40;
  private static final long MOST_SECONDS = 60;
  private static final Pattern LISTENS = Pattern.compile("listens on (http://[^ ]+)");

  private Training() {}

  /**
   * Exits with the exit code of the router.
   *
   * @param command starts a router; the flags that name the engines are added
   */
  public static void main(String[] command) throws IOException, InterruptedException {
    System.exit(run(List.of(command)));
  }

  /** Runs the router that the command starts, and returns its exit code. */
  static int run(List<String> command) throws IOException, InterruptedException {
    try (FixedEngine one = FixedEngine.start();
        FixedEngine two = FixedEngine.start()) {
      List<String> words = new ArrayList<>(command);
      words.addAll(List.of("--workers", one.url() + "," + two.url()));
      words.addAll(List.of("--port", "0", "--metrics-port", "0"));
      // The first requests wait until the workers have answered a probe.
      words.addAll(List.of("--queue-size", "100", "--defer-without-worker", "60s"));
      words.addAll(List.of("--decisions-sample", "1", "--drain-timeout", "0"));
      return train(words);
    }
  }

  private static int train(List<String> command) throws IOException, InterruptedException {
    Process router =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader out =
        new BufferedReader(new InputStreamReader(router.getInputStream(), UTF_8))) {
      request(url(out));
      // Process.destroy would close the output that the next line reads.
      router.toHandle().destroy();
      out.lines().forEach(System.out::println);
      return router.waitFor(MOST_SECONDS, TimeUnit.SECONDS) ? router.exitValue() : 1;
    } finally {
      router.destroyForcibly();
    }
  }

  private static String url(BufferedReader out) throws IOException {
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      Matcher listens = LISTENS.matcher(line);
      if (listens.find()) {
        return listens.group(1);
      }
    }
    throw new IOException("the router ended before it listened");
  }

  private static void request(String url) throws IOException, InterruptedException {
    try (HttpClient client = HttpClient.newHttpClient()) {
      String asked = "Hello";
      for (int i = 0; i < ROUNDS; i++) {
        asked += " and one sentence more, number " + i + ".";
        send(client, chat(url, asked, i % 2 == 0));
      }
      for (String path : List.of("/readiness", "/health", "/workers", "/v1/models", "/decisions")) {
        send(client, to(url, path).build());
      }
    }
  }

  private static void send(HttpClient client, HttpRequest request)
      throws IOException, InterruptedException {
    client.send(request, BodyHandlers.discarding());
  }

  private static HttpRequest chat(String url, String asked, boolean stream) {
    String body =
        "{\"model\":\"%s\",\"stream\":%s,\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}"
            .formatted(FixedEngine.MODEL, stream, asked);
    return to(url, "/v1/chat/completions")
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
  }

  private static HttpRequest.Builder to(String url, String path) {
    return HttpRequest.newBuilder(URI.create(url + path))
        .version(HttpClient.Version.HTTP_1_1)
        .timeout(Duration.ofSeconds(MOST_SECONDS));
  }
}
