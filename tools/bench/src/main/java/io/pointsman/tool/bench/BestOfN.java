package io.pointsman.tool.bench;

import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.ContenderProcess;
import io.pointsman.tool.bench.contender.Contenders;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Best-of-n sampling as trainers use it: distinct prompts of token ids, several samples of each
 * with different seeds, all sent at once. A good router sends the samples of one prompt to one
 * worker and distributes the prompts evenly.
 */
@Command(
    name = "best-of-n",
    description = {
      "Send 32 distinct prompts x 8 samples at once to /inference/v1/generate. Show the requests"
          + " per worker and the prefix cache hit rate for each router and policy. Each row uses"
          + " new simulated engines."
    },
    mixinStandardHelpOptions = true)
final class BestOfN implements Callable<Integer> {
  private static final String MODEL = "sim-model";
  private static final Duration START_LIMIT = Duration.ofMinutes(1);

  @Option(
      names = "--engines",
      defaultValue = "4",
      description = "Number of simulated engines. Default: ${DEFAULT-VALUE}.")
  int engines;

  @Option(
      names = "--prompts",
      defaultValue = "32",
      description = "Number of distinct prompts. Default: ${DEFAULT-VALUE}.")
  int prompts;

  @Option(
      names = "--samples",
      defaultValue = "8",
      description = "Samples per prompt. Default: ${DEFAULT-VALUE}.")
  int samples;

  @Option(
      names = "--tokens",
      defaultValue = "873",
      description = "Token ids per prompt. Default: ${DEFAULT-VALUE}.")
  int tokens;

  @Option(
      names = "--order",
      description =
          "Order of the requests: grouped (all samples of a prompt together), interleaved (one"
              + " sample of each prompt in turn), or shuffled. Default: ${DEFAULT-VALUE}.")
  Order order = Order.grouped;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "Seed for prompts and for the shuffled order. Default: ${DEFAULT-VALUE}.")
  long seed;

  @Option(
      names = "--speed",
      defaultValue = "1",
      description = "Simulated seconds per real second. Default: ${DEFAULT-VALUE}.")
  double speed;

  @Option(names = "--only", description = "Show only routers with this prefix in their name.")
  String only = "";

  @Option(
      names = "--check",
      description =
          "Exit with 1 if Pointsman's cache_aware has a failure, an uneven share (more than 2"
              + " requests off) or a hit rate below 86 %%.")
  boolean check;

  private final Contenders installed;

  BestOfN() {
    this(new Contenders(Contenders.home()));
  }

  BestOfN(Contenders installed) {
    this.installed = installed;
  }

  enum Order {
    grouped,
    interleaved,
    shuffled
  }

  @Override
  public Integer call() throws Exception {
    System.out.printf(
        "%d requests (%d prompts of %d tokens x %d samples, %s), %d engines; hit rate at best %.1f"
            + " %%%n%n",
        prompts * samples,
        prompts,
        tokens,
        samples,
        order,
        engines,
        100.0 * (samples - 1) / samples);
    System.out.printf(
        "%-28s %-24s %8s %9s%n", "router and policy", "requests per worker", "hits", "failures");
    List<String> misses = new ArrayList<>();
    boolean checked = false;
    for (Contender contender : contenders()) {
      BestOfNRow row = row(contender);
      print(row);
      if (row.name().equals("pointsman cache_aware")) {
        checked = true;
        row.misses().forEach(miss -> misses.add(row.name() + ": " + miss));
      }
    }
    if (!check) {
      return 0;
    }
    if (!checked) {
      misses.add("pointsman cache_aware: not measured");
    }
    misses.forEach(miss -> System.out.println("MISSED: " + miss));
    return misses.isEmpty() ? 0 : 1;
  }

  private List<Contender> contenders() {
    List<Contender> contenders = new ArrayList<>();
    for (String policy : List.of("cache_aware", "round_robin", "consistent_hash")) {
      contenders.add(installed.pointsman(policy, Map.of()));
    }
    for (String policy : List.of("cache_aware", "round_robin", "consistent_hash")) {
      Contender peer = installed.vllmRouter(policy);
      if (!peer.installed()) {
        System.out.println("vllm-router: left out, " + peer.missing());
        break;
      }
      contenders.add(peer);
    }
    contenders.removeIf(contender -> !contender.name().startsWith(only));
    return contenders;
  }

  BestOfNRow row(Contender contender) throws Exception {
    List<SimEngine> fleet = new ArrayList<>();
    try {
      for (int i = 0; i < engines; i++) {
        fleet.add(engine("engine-" + i));
      }
      List<String> urls = fleet.stream().map(SimEngine::url).toList();
      int cores = Runtime.getRuntime().availableProcessors();
      try (ContenderProcess router =
          ContenderProcess.start(contender, urls, "", cores, prompts * samples)) {
        router.awaitReady("/readiness", START_LIMIT);
        int failures = send(router.url());
        return result(contender.name(), fleet, failures);
      }
    } finally {
      fleet.forEach(SimEngine::close);
    }
  }

  private SimEngine engine(String id) {
    // 400,000 KV tokens correspond to an 80 GB card with an 8 B model. The engine runs faster than
    // real time, therefore a row takes seconds.
    SimConfig config =
        SimConfig.DEFAULT
            .withId(id)
            .withModels(MODEL)
            .withScaleOut(true)
            .withKvMemory(25_000, 16)
            .withSpeed(speed);
    return SimEngine.start(config);
  }

  /** Sends all requests at once and returns the number of failed ones. */
  private int send(String url) throws InterruptedException {
    AtomicInteger failures = new AtomicInteger();
    try (ExecutorService threads = Executors.newFixedThreadPool(2);
        HttpClient client =
            HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .executor(threads)
                .build()) {
      List<CompletableFuture<Void>> answers =
          bodies().stream()
              .map(
                  body ->
                      HttpRequest.newBuilder(URI.create(url + "/inference/v1/generate"))
                          .header("content-type", "application/json")
                          .timeout(Duration.ofMinutes(2))
                          .POST(BodyPublishers.ofString(body))
                          .build())
              .map(
                  request ->
                      client
                          .sendAsync(request, BodyHandlers.ofString())
                          .handle(
                              (answer, error) ->
                                  count(failures, error == null && answer.statusCode() == 200)))
              .toList();
      CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new)).join();
    }
    return failures.get();
  }

  private static @Nullable Void count(AtomicInteger failures, boolean succeeded) {
    if (!succeeded) {
      failures.incrementAndGet();
    }
    return null;
  }

  private List<String> bodies() {
    Random random = new Random(seed);
    List<String> ids =
        IntStream.range(0, prompts)
            .mapToObj(
                _ ->
                    random
                        .ints(tokens, 1000, 30_000)
                        .mapToObj(Integer::toString)
                        .collect(Collectors.joining(",", "[", "]")))
            .toList();
    List<String> bodies = new ArrayList<>();
    for (int i = 0; i < prompts * samples; i++) {
      int prompt = order == Order.interleaved ? i % prompts : i / samples;
      bodies.add(
          "{\"model\":\"%s\",\"token_ids\":%s,\"sampling_params\":{\"max_tokens\":256,\"seed\":%d}}"
              .formatted(MODEL, ids.get(prompt), i));
    }
    if (order == Order.shuffled) {
      Collections.shuffle(bodies, random);
    }
    return bodies;
  }

  private static BestOfNRow result(String name, List<SimEngine> fleet, int failures) {
    long queries = fleet.stream().mapToLong(e -> e.state().tokens().cacheQueries()).sum();
    long hits = fleet.stream().mapToLong(e -> e.state().tokens().cacheHits()).sum();
    List<Long> requests = fleet.stream().map(e -> e.state().requests().served()).toList();
    return new BestOfNRow(name, requests, queries == 0 ? 0 : 100.0 * hits / queries, failures);
  }

  private static void print(BestOfNRow row) {
    System.out.printf(
        Locale.ROOT,
        "%-28s %-24s %6.1f %% %9d%n",
        row.name(),
        row.requests().stream().map(String::valueOf).collect(Collectors.joining(" ")),
        row.hitPercent(),
        row.failures());
  }
}
