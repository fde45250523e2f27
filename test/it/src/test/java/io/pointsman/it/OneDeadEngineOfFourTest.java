package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.Scale;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Under load one of four engines dies with all its connections and returns later. */
@Tag("full")
final class OneDeadEngineOfFourTest {
  private static final int CLIENTS = Scale.of(32, 128);
  private static final long PHASE_MS = Scale.of(1_500, 10_000);

  /** The ending of a request for its client. */
  private enum End {
    SERVED,
    /** A stream on the dying engine that ended in order, with an error event. */
    STREAM_ENDED_WITH_ERROR_EVENT,
    /** Any other ending: an error status, a broken connection, an incomplete stream. */
    BAD
  }

  @ParameterizedTest
  @ValueSource(strings = {"round_robin", "cache_aware"})
  void noClientSeesAnErrorWhileAnotherEngineIsHealthy(String policy) throws Exception {
    Map<End, Integer> ends = new EnumMap<>(End.class);
    Queue<String> bad = new ConcurrentLinkedQueue<>();
    try (Cluster cluster = fourEngines(policy).start();
        var executor = Executors.newSingleThreadExecutor()) {
      AtomicBoolean stop = new AtomicBoolean();
      Future<?> load = executor.submit((Callable<?>) () -> load(cluster, stop, ends, bad));
      try {
        killAndRestart(cluster, policy);
      } finally {
        stop.set(true);
      }
      load.get();
    }

    Scale.report("one dead of four", "%s: %s".formatted(policy, ends));
    assertThat(bad).isEmpty();
    assertThat(ends.get(End.SERVED)).isGreaterThan(CLIENTS);
  }

  /** Requests are sent one after the other; only the first one meets the dead engine. */
  @ParameterizedTest
  @ValueSource(strings = {"round_robin", "cache_aware"})
  void oneFailedAttemptExcludesIt(String policy) throws Exception {
    // Probes would also detect the dead engine and hide the effect of the attempt.
    Cluster.Setup unprobed = fourEngines(policy).set("health.interval", "1h");
    try (Cluster cluster = unprobed.start()) {
      Queue<String> bad = new ConcurrentLinkedQueue<>();
      SimEngine dying = cluster.engine(0);
      Worker worker = cluster.worker(dying);
      call(cluster, 100, bad);
      long before = worker.failures();
      dying.stop();
      int calls = 0;
      while (worker.failures() == before && calls < 1_000) {
        call(cluster, 1, bad);
        calls++;
      }
      assertThat(worker.health().healthy()).as("healthy after the attempt").isFalse();
      call(cluster, 100, bad);

      assertThat(worker.failures() - before).as("failed attempts").isEqualTo(1);
      assertThat(bad).isEmpty();
      dying.restart();
    }
  }

  private static void call(Cluster cluster, int times, Queue<String> bad) {
    for (int i = 0; i < times; i++) {
      // Prompts share no prefix, so every policy uses all engines.
      request(cluster, ThreadLocalRandom.current().nextInt(), i, bad);
    }
  }

  private static void killAndRestart(Cluster cluster, String policy) {
    WaitFor.pause(PHASE_MS);
    SimEngine dying = cluster.engine(0);
    Worker worker = cluster.worker(dying);
    int inFlight = worker.inFlight();
    long failuresBefore = worker.failures();
    double connectsBefore = failedConnects(cluster);
    dying.stop();
    double out = WaitFor.until("it is out", WaitFor.LONG, () -> !worker.health().healthy());
    WaitFor.pause(PHASE_MS);
    long failures = worker.failures() - failuresBefore;
    double connects = failedConnects(cluster) - connectsBefore;

    dying.restart();
    long servedBefore = worker.served();
    double back =
        WaitFor.until("it serves again", WaitFor.LONG, () -> worker.served() > servedBefore);
    WaitFor.pause(PHASE_MS / 2);

    Scale.report(
        "one dead of four",
        "%s: in flight on it %d, failures %d, of them failed connects %.0f, out after %.0f ms, back after %.0f ms"
            .formatted(policy, inFlight, failures, connects, out, back));
    // Requests placed before the first refusal; hundreds follow afterwards.
    assertThat(connects).as("failed connects").isLessThanOrEqualTo(CLIENTS);
    assertThat(failures).as("failed attempts").isLessThanOrEqualTo(2L * CLIENTS);
  }

  private static Cluster.Setup fourEngines(String policy) {
    return Cluster.of(4).policy(policy).engines(sim -> sim.withLinearLatency(100_000, 2));
  }

  /** Closed-loop clients until the stop; records the endings of requests. */
  private static boolean load(
      Cluster cluster, AtomicBoolean stop, Map<End, Integer> ends, Queue<String> bad)
      throws Exception {
    List<Map<End, Integer>> tallies =
        ConcurrentClients.of(
            CLIENTS,
            client ->
                () -> {
                  Map<End, Integer> mine = new EnumMap<>(End.class);
                  for (int i = 0; !stop.get(); i++) {
                    mine.merge(request(cluster, client, i, bad), 1, Integer::sum);
                  }
                  return mine;
                });
    tallies.forEach(mine -> mine.forEach((end, count) -> ends.merge(end, count, Integer::sum)));
    return true;
  }

  private static End request(Cluster cluster, int client, int number, Queue<String> bad) {
    boolean stream = number % 2 == 0;
    String body =
        "{\"model\":\"sim\",\"stream\":%s,\"max_tokens\":20,\"prompt\":\"client %d asks its question number %d\"}"
            .formatted(stream, client, number);
    try {
      HttpAnswer answer = RawClient.call(cluster.port(), "POST", "/v1/completions", body);
      return judge(answer, stream, bad);
    } catch (Exception e) {
      bad.add(e.toString());
      return End.BAD;
    }
  }

  private static End judge(HttpAnswer answer, boolean stream, Queue<String> bad) {
    String text = answer.text();
    boolean ok = answer.status() == 200 && answer.complete();
    if (ok && (!stream || text.endsWith("data: [DONE]\n\n"))) {
      return End.SERVED;
    }
    if (ok && stream && text.contains("\"error\"")) {
      return End.STREAM_ENDED_WITH_ERROR_EVENT;
    }
    bad.add(answer.status() + (answer.complete() ? " " : " cut short ") + tail(text));
    return End.BAD;
  }

  private static String tail(String text) {
    return text.substring(Math.max(0, text.length() - 200));
  }

  private static double failedConnects(Cluster cluster) {
    return cluster.router().metric("pointsman_retries_total", "reason=\"connect\"");
  }
}
