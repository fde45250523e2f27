package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.Scale;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.RouterFault;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The router gets SIGTERM while 500 streams are active. */
@Timeout(300)
@Tag("full")
final class StopUnderStreamsTest {
  private static final int STREAMS = 500;

  /** Half of the streams end, and are looked at, within this time, however busy the machine. */
  private static final int DRAIN_SECONDS = 60;

  private static final int BETWEEN_EVENTS_MILLIS = 200;

  /** Events after the SIGTERM of a stream that ends. */
  private static final int FURTHER_EVENTS = 5;

  @Test
  @Shows(RouterFault.TERMINATED_UNDER_STREAMS)
  void everyStreamEndsInOrderWithinTheDrainTime() throws Exception {
    CountDownLatch stopping = new CountDownLatch(1);
    AtomicInteger streams = new AtomicInteger();
    try (ScriptedEngine engine =
            ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, half(streams, stopping)));
        RouterProcess router =
            RouterProcess.serve(List.of(engine.url()), "--drain-timeout", DRAIN_SECONDS + "s")) {
      WaitFor.until("the model is known", WaitFor.LONG, () -> servesModel(router.port()));
      Map<String, AtomicInteger> ends = new ConcurrentHashMap<>();
      AtomicLong lastEnd = new AtomicLong();
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < STREAMS; i++) {
        clients.add(Thread.ofVirtual().start(() -> note(ends, lastEnd, router.port())));
      }
      WaitFor.until(
          () -> "all streams run: " + streams + ", ended: " + ends,
          WaitFor.LONG,
          () -> streams.get() >= STREAMS);
      long signalled = System.nanoTime();
      router.terminate();
      stopping.countDown();
      WaitFor.until(
          () -> "half of them have ended: " + ends,
          WaitFor.LONG,
          () -> ends.getOrDefault("done", new AtomicInteger()).get() == STREAMS / 2);
      router.verifyBeside(STREAMS / 2, BETWEEN_EVENTS_MILLIS);
      assertThat(ends).as("ends before the drain time").containsOnlyKeys("done");
      for (Thread client : clients) {
        client.join();
      }
      assertThat(router.awaitExit()).isZero();
      // No lease is open, by the router's last log line.
      assertThat(router.output()).contains("stopped, 0 requests in flight");
      long millis = (System.nanoTime() - signalled) / 1_000_000;
      long last = (lastEnd.get() - signalled) / 1_000_000;
      Scale.report(
          "stop under streams",
          ends + ", the last after " + last + " ms, the process after " + millis);
      assertThat(ends.keySet()).containsExactlyInAnyOrder("done", "error event");
      assertThat(ends.get("done")).hasValue(STREAMS / 2);
      WaitFor.until("the engine is left alone", WaitFor.LONG, () -> engine.openConnections() == 0);
    }
  }

  private static boolean servesModel(int port) {
    try {
      return RawClient.call(port, "GET", "/v1/models", "").text().contains(Cluster.MODEL);
    } catch (IOException e) {
      return false;
    }
  }

  /** Every other stream ends soon after the SIGTERM; the rest would never end. */
  private static EngineScript half(AtomicInteger streams, CountDownLatch stopping) {
    return (_, connection) -> {
      connection.beginEvents().chunk("data: begun\n\n");
      boolean ends = streams.getAndIncrement() % 2 == 0;
      stopping.await();
      for (int i = 0; i < FURTHER_EVENTS || !ends; i++) {
        connection.chunk("data: more\n\n");
        Thread.sleep(BETWEEN_EVENTS_MILLIS); // a generation takes time
      }
      connection.chunk("data: [DONE]\n\n").lastChunk();
    };
  }

  private static void note(Map<String, AtomicInteger> ends, AtomicLong lastEnd, int port) {
    ends.computeIfAbsent(end(port), _ -> new AtomicInteger()).incrementAndGet();
    lastEnd.set(System.nanoTime()); // the last writer wins; others are only moments earlier
  }

  private static String end(int port) {
    try {
      HttpAnswer answer = RawClient.call(port, "POST", "/v1/completions", FaultRig.request(true));
      String text = answer.text();
      if (answer.status() != 200 || !answer.complete()) {
        return answer.status() + ", cut: " + text;
      }
      String last = text.substring(text.lastIndexOf("data: "));
      // The stop does not cut a stream that could still end within the drain time.
      boolean ranOn = text.split("data: more", -1).length > 2 * FURTHER_EVENTS;
      return last.equals("data: [DONE]\n\n")
          ? "done"
          : last.contains("\"error\"") && ranOn ? "error event" : "just ends: " + text;
    } catch (IOException e) {
      return e.toString();
    }
  }
}
