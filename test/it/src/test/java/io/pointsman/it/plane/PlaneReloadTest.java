package io.pointsman.it.plane;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** SPOE begins and ends in a router that runs, behind a real HAProxy. */
@Tag("full")
@Timeout(240)
final class PlaneReloadTest {
  private static final int CLIENTS = 4;
  private static final int ROUNDS = 5;

  @Test
  void noRequestFailsWhileSpoeEndsAndBegins() throws Exception {
    try (PlaneRig rig = new PlaneRig(PlaneRig.Way.HAPROXY_SPOE)) {
      rig.engines(2);
      PointsmanConfig with = rig.config(true);
      PointsmanConfig without = rig.config(false);
      Router router = rig.opened(Router.start(with, "test"));
      WaitFor.until(
          "workers healthy",
          WaitFor.LONG,
          () ->
              router.fleet().snapshot().workers().stream()
                  .allMatch(w -> w.health().healthy() && !w.models().isEmpty()));
      rig.carrier();
      AtomicBoolean over = new AtomicBoolean();
      AtomicInteger served = new AtomicInteger();
      Queue<String> failures = new ConcurrentLinkedQueue<>();
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(Thread.startVirtualThread(() -> send(rig, over, served, failures)));
      }
      try {
        for (int i = 0; i < ROUNDS; i++) {
          router.change(with, without);
          awaitMore(served, failures);
          router.change(without, with);
          rig.awaitPinned();
          awaitMore(served, failures);
        }
      } finally {
        over.set(true);
        for (Thread each : clients) {
          each.join();
        }
      }
      assertThat(failures).isEmpty();
    }
  }

  private static void awaitMore(AtomicInteger served, Queue<String> failures) {
    int before = served.get();
    WaitFor.until(
        () -> "served: " + served + " " + failures,
        WaitFor.LONG,
        () -> served.get() > before + 50 || !failures.isEmpty());
  }

  private static void send(
      PlaneRig rig, AtomicBoolean over, AtomicInteger served, Queue<String> failures) {
    while (!over.get()) {
      try {
        HttpAnswer answer = rig.send(PlaneRig.completion("hello"));
        if (answer.status() == 200) {
          served.incrementAndGet();
        } else {
          failures.add(answer.status() + " " + answer.text());
        }
      } catch (IOException e) {
        failures.add(e.toString());
      }
    }
  }
}
