package io.pointsman.tool.bench.overload;

import io.netty.channel.EventLoopGroup;
import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.ContenderProcess;
import io.pointsman.tool.bench.contender.Contenders;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command {@code bench overload}. */
@Command(
    name = "overload",
    description = {
      "Send three times the load that simulated engines can serve: from a greedy client, a polite"
          + " one that stays just below half of the capacity, and one of high priority. First"
          + " measure the capacity, then the client of high priority at 80 %% of it. Exit with 1 if"
          + " the polite client gets less than 90 %% of its share, if high priority takes more than"
          + " 1.2 x its time there, if less than 90 %% of the capacity is served, or if a refusal"
          + " has no reason or no Retry-After."
    },
    mixinStandardHelpOptions = true)
public final class Overload implements Callable<Integer> {
  static final String MODEL = "sim";

  private static final Duration START_LIMIT = Duration.ofMinutes(1);
  private static final OverloadClient.Shape SHAPE = new OverloadClient.Shape(400, 120);
  private static final double TIMES = 3;

  /** Share of the capacity in use for the comparison without overload. */
  private static final double USUAL = 0.8;

  /** Share of the capacity that the client of high priority sends. */
  private static final double URGENT = 0.03;

  @Option(
      names = "--engines",
      defaultValue = "2",
      description = "Number of simulated engines. Default: ${DEFAULT-VALUE}.")
  int engines;

  @Option(
      names = "--concurrency",
      defaultValue = "16",
      description = "limits.max-concurrent-requests of the router. Default: ${DEFAULT-VALUE}.")
  int concurrency;

  @Option(
      names = "--seconds",
      defaultValue = "30",
      description = "Duration of each of the three phases. Default: ${DEFAULT-VALUE}.")
  double seconds;

  private final Contenders installed;

  public Overload() {
    this(new Contenders(Contenders.home()));
  }

  Overload(Contenders installed) {
    this.installed = installed;
  }

  @Override
  public Integer call() throws Exception {
    OverloadResult result = run(installed.pointsman("least_load", Map.of()));
    System.out.println(result.markdown());
    result.misses().forEach(miss -> System.out.println("MISSED: " + miss));
    return result.misses().isEmpty() ? 0 : 1;
  }

  OverloadResult run(Contender router) throws Exception {
    EventLoopGroup loops = SimEngine.newGroup(1);
    List<SimEngine> fleet = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        HttpClient http =
            HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .executor(threads)
                .build()) {
      for (int i = 0; i < engines; i++) {
        fleet.add(
            SimEngine.start(
                SimConfig.DEFAULT.withId("engine-" + i).withModels(MODEL).withScaleOut(true),
                loops));
      }
      List<String> urls = fleet.stream().map(SimEngine::url).toList();
      int cores = Runtime.getRuntime().availableProcessors();
      try (ContenderProcess process =
          ContenderProcess.start(limited(router), urls, "", cores, 4 * concurrency)) {
        process.awaitReady("/readiness", START_LIMIT);
        return phases(http, URI.create(process.url() + "/v1/completions"), threads);
      }
    } finally {
      fleet.forEach(SimEngine::close);
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  /** The router with a limit; it knows clients by {@code X-Forwarded-For}. */
  private Contender limited(Contender router) {
    Contender.Launcher launcher =
        place -> {
          Contender.LaunchCommand launch = router.launcher().launch(place);
          List<String> line = new ArrayList<>(launch.command());
          line.addAll(List.of("--max-concurrent-requests", Integer.toString(concurrency)));
          line.addAll(List.of("--queue-size", Integer.toString(2 * concurrency)));
          line.addAll(List.of("--limits-max-priority", "high"));
          line.addAll(List.of("--forwarded-trusted-proxies", "127.0.0.0/8"));
          return new Contender.LaunchCommand(line, launch.environment());
        };
    return new Contender(
        router.name(), router.body(), router.version(), router.missing(), false, launcher);
  }

  private OverloadResult phases(HttpClient http, URI target, ExecutorService threads)
      throws Exception {
    OverloadClient greedy = new OverloadClient(http, target, "10.0.0.1", "normal", SHAPE);
    OverloadClient polite = new OverloadClient(http, target, "10.0.0.2", "normal", SHAPE);
    OverloadClient urgent = new OverloadClient(http, target, "10.0.0.3", "high", SHAPE);
    saturated(greedy, threads, seconds / 3); // The first requests meet code that is not compiled.
    double capacity = saturated(greedy, threads, seconds).servedCount() / seconds;

    double rate = URGENT * capacity;
    double usual = (USUAL - URGENT) * capacity;
    Future<ClientResult> others = threads.submit(() -> greedy.open(usual, seconds, threads, 5));
    double before = urgent.open(rate, seconds, threads, 1).medianSeconds();
    others.get();

    double fair = 0.95 * capacity / 2;
    Future<ClientResult> ofPolite = threads.submit(() -> polite.open(fair, seconds, threads, 2));
    Future<ClientResult> ofUrgent = threads.submit(() -> urgent.open(rate, seconds, threads, 3));
    double more = TIMES * capacity - fair - rate;
    ClientResult ofGreedy = greedy.open(more, seconds, threads, 4);
    return new OverloadResult(capacity, before, seconds, ofGreedy, ofPolite.get(), ofUrgent.get());
  }

  /** Keeps all permits of the router in use, by one client. */
  private ClientResult saturated(OverloadClient client, ExecutorService threads, double duration)
      throws Exception {
    ClientResult result = new ClientResult(System.nanoTime() + (long) (duration * 1e9));
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < concurrency + concurrency / 2; i++) {
      long seed = i;
      all.add(threads.submit(() -> client.closed(duration, result, seed)));
    }
    for (Future<?> each : all) {
      each.get();
    }
    return result;
  }
}
