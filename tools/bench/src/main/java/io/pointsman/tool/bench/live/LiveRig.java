package io.pointsman.tool.bench.live;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.ContenderProcess;
import io.pointsman.tool.bench.proxies.Machine;
import io.pointsman.tool.bench.wire.Wire;
import io.pointsman.tool.replay.trace.Trace;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Runs contenders on a trace, each with fresh engines and a fresh router.
 *
 * @param trace requests, scheduled at the requested rate
 * @param engines number of engines behind each contender
 * @param kvTokens KV memory of each engine in tokens
 * @param speed seconds of the trace per second
 * @param limit time limit of each run
 */
record LiveRig(Trace trace, int engines, int kvTokens, double speed, Duration limit) {
  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** Maximum number of warm-up requests to the router; each engine should serve one. */
  private static final int GREETINGS = 500;

  private static final int STREAMS = 4096;

  /** The contender with a policy that publishes its predictions. */
  private static final String PREDICTS = "pointsman-cost";

  /** Interval of the prediction plot, in seconds of the trace. */
  private static final double INTERVAL_SECONDS = 10;

  /** Number of requests sent directly to the engines before the first contender. */
  private static final int WARM_UP = 200;

  /** Measures a contender. A failure of the contender is returned as a result, not thrown. */
  LiveRow run(Contender contender) throws InterruptedException {
    try {
      return measure(contender);
    } catch (IOException e) {
      String problem = String.valueOf(e.getMessage());
      return LiveRow.failed(contender.name(), contender.version(), problem);
    }
  }

  /**
   * Warms up engines and load generator. Otherwise the first contender would bear their
   * compilation.
   */
  void warmUp() throws InterruptedException {
    try (EngineFleet fleet = EngineFleet.start(engines, kvTokens, speed)) {
      List<String> urls = fleet.urls();
      OpenLoop.play(trace.first(WARM_UP), speed, limit, index -> urls.get(index % urls.size()));
    }
  }

  private LiveRow measure(Contender contender) throws IOException, InterruptedException {
    try (EngineFleet fleet = EngineFleet.start(engines, kvTokens, speed);
        ContenderProcess router =
            ContenderProcess.start(contender, fleet.urls(), "", Machine.cores(), STREAMS)) {
      router.awaitRouted(new String(TracePrompts.greeting(0), US_ASCII), START_LIMIT);
      greetAll(fleet, router.url());
      fleet.resetCounters();
      boolean predicts = contender.name().equals(PREDICTS);
      try (PredictionLog log =
          predicts ? PredictionLog.start(router.metricsPort(), INTERVAL_SECONDS / speed) : null) {
        return play(contender, fleet, router, log);
      }
    }
  }

  private LiveRow play(
      Contender contender, EngineFleet fleet, ContenderProcess router, @Nullable PredictionLog log)
      throws IOException, InterruptedException {
    Processors processors = new Processors(router.tree());
    List<RequestTimes> timings = OpenLoop.play(trace, speed, limit, _ -> router.url());
    LiveRow.Use use = processors.since();
    return new LiveRow(
        contender.name(),
        contender.version(),
        speed,
        timings,
        fleet.imbalance(),
        use,
        log == null ? null : log.total(),
        log == null ? List.of() : log.intervals(),
        "");
  }

  /** Sends requests until the contender has used all engines, or a time limit ends. */
  private static void greetAll(EngineFleet fleet, String url)
      throws IOException, InterruptedException {
    long begin = System.nanoTime();
    for (int i = 1; i <= GREETINGS && fleet.unused() > 0; i++) {
      try (Wire wire = new Wire(url, PATIENCE)) {
        wire.send("/v1/chat/completions", TracePrompts.greeting(i));
        wire.read();
      }
      if (System.nanoTime() - begin > PATIENCE.toNanos()) {
        break;
      }
      Thread.sleep(10);
    }
  }
}
