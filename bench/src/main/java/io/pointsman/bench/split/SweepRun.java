package io.pointsman.bench.split;

import io.netty.channel.EventLoopGroup;
import io.pointsman.app.config.ConfigValues;
import io.pointsman.app.config.PointsmanConfig;
import io.pointsman.app.config.key.FrontKeys;
import io.pointsman.app.config.key.OperationKeys;
import io.pointsman.app.demo.SplitFleet;
import io.pointsman.app.wiring.Router;
import io.pointsman.sim.SimConfig;
import io.pointsman.sim.SimEngine;
import io.pointsman.sim.kv.KvConnector;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

/** One rule on one workload: fresh engines, a fresh router, all sessions. */
final class SweepRun {
  private static final String MODEL = "sim-model";
  private static final Duration START_LIMIT = Duration.ofMinutes(1);
  private static final int LOOPS = 2;

  private final Rule rule;
  private final SweepOptions options;
  private final List<Double> shortTtft = Collections.synchronizedList(new ArrayList<>());
  private final List<Double> longTtft = Collections.synchronizedList(new ArrayList<>());
  private final List<Double> tokenMillis = Collections.synchronizedList(new ArrayList<>());
  private final AtomicLong failures = new AtomicLong();
  private final AtomicLong tokens = new AtomicLong();

  private SweepRun(Rule rule, SweepOptions options) {
    this.rule = rule;
    this.options = options;
  }

  static Outcome of(Rule rule, SweepOptions options) throws InterruptedException {
    return new SweepRun(rule, options).run();
  }

  private Outcome run() throws InterruptedException {
    EventLoopGroup loops = SimEngine.newGroup(LOOPS);
    SimConfig engine = SimConfig.DEFAULT.withModels(MODEL).withSpeed(options.speed());
    try (SplitFleet fleet =
            SplitFleet.start(
                options.prefills(),
                options.decodes(),
                KvConnector.NIXL,
                engine,
                UnaryOperator.identity(),
                loops);
        Router router = Router.start(config(fleet), "bench");
        SessionClient client = new SessionClient(router.url(), MODEL)) {
      awaitHealthy(router);
      long begin = System.nanoTime();
      play(client, begin);
      return outcome(fleet, (System.nanoTime() - begin) / 1e9 * options.speed());
    } finally {
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  private PointsmanConfig config(SplitFleet fleet) {
    ConfigValues values =
        fleet
            .configure(new ConfigValues())
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(OperationKeys.DRAIN_TIMEOUT, Duration.ZERO);
    rule.configure(values);
    return PointsmanConfig.from(values);
  }

  private static void awaitHealthy(Router router) throws InterruptedException {
    long begin = System.nanoTime();
    while (!router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy())) {
      if (System.nanoTime() - begin > START_LIMIT.toNanos()) {
        throw new IllegalStateException("engines: not healthy within " + START_LIMIT);
      }
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  private void play(SessionClient client, long begin) {
    List<Session> sessions = Session.draw(options.rate(), options.seconds(), options.seed());
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < sessions.size(); i++) {
        Session session = sessions.get(i);
        Random random = new Random(options.seed() * 31 + i);
        threads.execute(() -> play(session, client, random, begin));
      }
    }
  }

  private void play(Session session, SessionClient client, Random random, long begin) {
    StringBuilder prompt = new StringBuilder();
    try {
      sleepUntil(begin + wall(session.startSeconds()));
      for (Session.Turn turn : session.turns()) {
        sleepUntil(System.nanoTime() + wall(turn.thinkSeconds()));
        prompt.append(SessionClient.words(turn.words(), random));
        SessionClient.Answer answer = client.ask(prompt.toString(), turn.output());
        prompt.append(answer.text());
        note(session, turn, answer);
      }
    } catch (IOException | UncheckedIOException e) {
      failures.incrementAndGet();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void note(Session session, Session.Turn turn, SessionClient.Answer answer) {
    double millis = options.speed() / 1e6;
    (session.longText() ? longTtft : shortTtft).add(answer.ttftNanos() * millis);
    tokenMillis.add((answer.nanos() - answer.ttftNanos()) * millis / (turn.output() - 1));
    tokens.addAndGet(turn.output());
  }

  private long wall(double engineSeconds) {
    return (long) (engineSeconds / options.speed() * 1e9);
  }

  private static void sleepUntil(long nanos) throws InterruptedException {
    long left = nanos - System.nanoTime();
    if (left > 0) {
      TimeUnit.NANOSECONDS.sleep(left);
    }
  }

  private Outcome outcome(SplitFleet fleet, double engineSeconds) {
    List<Double> all = new ArrayList<>(shortTtft);
    all.addAll(longTtft);
    long split = fleet.prefills().stream().mapToLong(e -> e.kvState().legs().prefill()).sum();
    return new Outcome(
        rule,
        all.size(),
        failures.get(),
        all.isEmpty() ? 0 : 100.0 * split / all.size(),
        Outcome.Pair.of(all),
        Outcome.Pair.of(shortTtft),
        Outcome.Pair.of(longTtft),
        Outcome.percentile(tokenMillis, 0.95),
        tokens.get() / engineSeconds,
        fleet.handovers().leaked());
  }
}
