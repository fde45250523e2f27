package io.pointsman.bench.live;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.bench.contender.Contender;
import io.pointsman.bench.contender.RouterProcess;
import io.pointsman.bench.proxies.Machine;
import io.pointsman.bench.wire.Wire;
import io.pointsman.replay.trace.Trace;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Runs one contender: fresh engines, a fresh router, and the requests.
 *
 * @param trace at the rate at which it is sent
 * @param engines behind each contender
 * @param kvTokens KV memory of each of them
 * @param speed seconds of the trace per second
 * @param limit of each run
 */
record LiveRig(Trace trace, int engines, int kvTokens, double speed, Duration limit) {
  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** Greetings sent at most until each engine has had one. */
  private static final int GREETINGS = 500;

  private static final int STREAMS = 4096;

  /** The contender whose policy says what it expects. */
  private static final String PREDICTS = "pointsman-cost";

  /** Seconds of the trace over which predictions are summed up for the plot. */
  private static final double INTERVAL_SECONDS = 10;

  /**
   * Requests sent straight to the engines before the first contender, so that all find a warm rig.
   */
  private static final int WARM_UP = 200;

  /** Never throws for what the contender does wrong: that is a result, too. */
  LiveRow run(Contender contender) throws InterruptedException {
    try {
      return measure(contender);
    } catch (IOException e) {
      String problem = String.valueOf(e.getMessage());
      return LiveRow.failed(contender.name(), contender.version(), problem);
    }
  }

  /** So that the first contender does not pay for the compilation of engines and generator. */
  void warmUp() throws InterruptedException {
    try (EngineFleet fleet = EngineFleet.start(engines, kvTokens, speed)) {
      List<String> urls = fleet.urls();
      OpenLoop.play(trace.first(WARM_UP), speed, limit, index -> urls.get(index % urls.size()));
    }
  }

  private LiveRow measure(Contender contender) throws IOException, InterruptedException {
    try (EngineFleet fleet = EngineFleet.start(engines, kvTokens, speed);
        RouterProcess router =
            RouterProcess.start(contender, fleet.urls(), "", Machine.cores(), STREAMS)) {
      router.awaitRouted(new String(Prompts.greeting(0), US_ASCII), START_LIMIT);
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
      Contender contender, EngineFleet fleet, RouterProcess router, @Nullable PredictionLog log)
      throws IOException, InterruptedException {
    Processors processors = new Processors(router.tree());
    List<Course> courses = OpenLoop.play(trace, speed, limit, _ -> router.url());
    LiveRow.Use use = processors.since();
    return new LiveRow(
        contender.name(),
        contender.version(),
        speed,
        courses,
        fleet.imbalance(),
        use,
        log == null ? null : log.total(),
        log == null ? List.of() : log.intervals(),
        "");
  }

  /** Until the contender has found all engines, or takes too long. */
  private static void greetAll(EngineFleet fleet, String url)
      throws IOException, InterruptedException {
    long begin = System.nanoTime();
    for (int i = 1; i <= GREETINGS && fleet.unused() > 0; i++) {
      try (Wire wire = new Wire(url, PATIENCE)) {
        wire.send("/v1/chat/completions", Prompts.greeting(i));
        wire.read();
      }
      if (System.nanoTime() - begin > PATIENCE.toNanos()) {
        break;
      }
      Thread.sleep(10);
    }
  }
}
