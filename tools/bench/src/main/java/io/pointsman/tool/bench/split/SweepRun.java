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

  static RuleResult of(Rule rule, SweepOptions options) throws InterruptedException {
    return new SweepRun(rule, options).run();
  }

  private RuleResult run() throws InterruptedException {
    SimConfig engine = SimConfig.DEFAULT.withSpeed(options.speed());
    try (PdBenchRig rig =
            PdBenchRig.start(
                options.prefills(), options.decodes(), KvConnector.NIXL, engine, rule::configure);
        SessionClient client = new SessionClient(rig.url(), PdBenchRig.MODEL)) {
      long begin = System.nanoTime();
      play(client, begin);
      return outcome(rig, (System.nanoTime() - begin) / 1e9 * options.speed());
    }
  }

  private void play(SessionClient client, long begin) {
    List<ClientSession> sessions =
        ClientSession.draw(options.rate(), options.seconds(), options.seed());
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < sessions.size(); i++) {
        ClientSession session = sessions.get(i);
        Random random = new Random(options.seed() * 31 + i);
        threads.execute(() -> play(session, client, random, begin));
      }
    }
  }

  private void play(ClientSession session, SessionClient client, Random random, long begin) {
    StringBuilder prompt = new StringBuilder();
    try {
      sleepUntil(begin + wall(session.startSeconds()));
      for (ClientSession.Turn turn : session.turns()) {
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

  private void note(ClientSession session, ClientSession.Turn turn, SessionClient.Answer answer) {
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

  private RuleResult outcome(PdBenchRig rig, double engineSeconds) {
    List<Double> all = new ArrayList<>(shortTtft);
    all.addAll(longTtft);
    return new RuleResult(
        rule,
        all.size(),
        failures.counts(),
        all.isEmpty() ? 0 : 100.0 * rig.prefilled() / all.size(),
        RuleResult.Pair.of(all),
        RuleResult.Pair.of(shortTtft),
        RuleResult.Pair.of(longTtft),
        RuleResult.percentile(tokenMillis, 0.95),
        tokens.get() / engineSeconds,
        rig.fleet().handovers().leaked());
  }
}
