package io.pointsman.tool.bench.split;

import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Runs one rule on one workload, with fresh engines and a fresh router. */
final class SweepRun {
  private final Rule rule;
  private final SweepOptions options;
  private final List<Double> shortTtft = Collections.synchronizedList(new ArrayList<>());
  private final List<Double> longTtft = Collections.synchronizedList(new ArrayList<>());
  private final List<Double> tokenMillis = Collections.synchronizedList(new ArrayList<>());
  private final Failures failures = new Failures();
  private final AtomicLong tokens = new AtomicLong();

  private SweepRun(Rule rule, SweepOptions options) {
    this.rule = rule;
    this.options = options;
  }

  static Outcome of(Rule rule, SweepOptions options) throws InterruptedException {
    return new SweepRun(rule, options).run();
  }

  private Outcome run() throws InterruptedException {
    SimConfig engine = SimConfig.DEFAULT.withSpeed(options.speed());
    try (SplitRig rig =
            SplitRig.start(
                options.prefills(), options.decodes(), KvConnector.NIXL, engine, rule::configure);
        SessionClient client = new SessionClient(rig.url(), SplitRig.MODEL)) {
      long begin = System.nanoTime();
      play(client, begin);
      return outcome(rig, (System.nanoTime() - begin) / 1e9 * options.speed());
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
      failures.add(e);
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

  private Outcome outcome(SplitRig rig, double engineSeconds) {
    List<Double> all = new ArrayList<>(shortTtft);
    all.addAll(longTtft);
    return new Outcome(
        rule,
        all.size(),
        failures.counts(),
        all.isEmpty() ? 0 : 100.0 * rig.prefilled() / all.size(),
        Outcome.Pair.of(all),
        Outcome.Pair.of(shortTtft),
        Outcome.Pair.of(longTtft),
        Outcome.percentile(tokenMillis, 0.95),
        tokens.get() / engineSeconds,
        rig.fleet().handovers().leaked());
  }
}
