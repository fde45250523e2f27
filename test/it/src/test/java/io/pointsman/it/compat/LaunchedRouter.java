package io.pointsman.it.compat;

import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** A router started with flags of vllm-router, and a client for it. */
final class LaunchedRouter implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final Router router;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private LaunchedRouter(Router router) {
    this.router = router;
  }

  /** Starts the router and waits until {@code /health} is 200. */
  static LaunchedRouter start(String flags, MockWorker... workers) throws Exception {
    LaunchedRouter launched = launch(flags, workers);
    launched.await();
    return launched;
  }

  /** Starts a router that requires a key. */
  static LaunchedRouter startBehind(String authorization, String flags, MockWorker... workers)
      throws Exception {
    LaunchedRouter launched = launch(flags, workers);
    launched.await("Authorization", authorization);
    return launched;
  }

  private static LaunchedRouter launch(String flags, MockWorker... workers) {
    List<String> args =
        new ArrayList<>(List.of("--port", "0", "--prometheus-port", "0", "--drain-timeout", "10s"));
    args.addAll(List.of(flags.split(" ", -1)));
    args.add("--worker-urls");
    for (MockWorker worker : workers) {
      args.add(worker.url());
    }
    PointsmanConfig config = PointsmanConfig.from(VllmRouterLauncher.translate(args, Map.of()));
    return new LaunchedRouter(Router.start(config, "test"));
  }

  private void await(String... headers) throws Exception {
    for (int i = 0; send("GET", "/health", "", headers).statusCode() != 200; i++) {
      if (i > 600) {
        throw new AssertionError("/health is not 200 after a minute");
      }
      Thread.sleep(100);
    }
  }

  Router router() {
    return router;
  }

  HttpResponse<String> get(String target) throws IOException, InterruptedException {
    return send("GET", target, "");
  }

  HttpResponse<String> post(String target) throws IOException, InterruptedException {
    return send("POST", target, "");
  }

  /** Sends a completion for {@code prompt}, for a model that no worker lists. */
  HttpResponse<String> complete(String prompt, String... headers)
      throws IOException, InterruptedException {
    String body =
        "{\"model\":\"test-model\",\"prompt\":\"%s\",\"max_tokens\":1,\"stream\":false}"
            .formatted(prompt);
    return send("POST", "/v1/completions", body, headers);
  }

  HttpResponse<String> send(String method, String target, String body, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(router.url() + target))
            .timeout(LIMIT)
            .header("Content-Type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  /** The results of {@code times} calls, {@code width} of them at a time. */
  static <T> List<T> manyTimes(int times, int width, Callable<T> call) throws Exception {
    List<T> results = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(width)) {
      List<Future<T>> running = new ArrayList<>();
      for (int i = 0; i < times; i++) {
        running.add(threads.submit(call));
      }
      for (Future<T> each : running) {
        results.add(each.get());
      }
    }
    return results;
  }

  /** Number of responses by worker. */
  static Map<String, Integer> byWorker(List<HttpResponse<String>> responses) {
    Map<String, Integer> counts = new HashMap<>();
    for (HttpResponse<String> response : responses) {
      counts.merge(response.headers().firstValue("X-Worker-Id").orElse("none"), 1, Integer::sum);
    }
    return counts;
  }

  @Override
  public void close() {
    client.close();
    router.close();
  }
}
