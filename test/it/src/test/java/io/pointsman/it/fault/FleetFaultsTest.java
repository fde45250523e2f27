package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.FleetFault;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAccumulator;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Faults of several engines under load. Tests of the proxy cover faults of names. */
@Timeout(180)
final class FleetFaultsTest {
  private static final int CLIENTS = 16;
  private static final int ENGINES = 3;

  /**
   * Far below the router's response timeout, far above the duration of a response on a busy
   * machine.
   */
  private static final long AT_ONCE_SECONDS = 60;

  @ParameterizedTest
  @EnumSource(names = {"ALL_DIE_AT_ONCE", "FLAPS"})
  void underLoad(FleetFault fault) throws Exception {
    switch (fault) {
      case ALL_DIE_AT_ONCE -> allDieAtOnce();
      case FLAPS -> flaps();
      default -> throw new AssertionError(fault + ": has a test of its own");
    }
  }

  /** Every client gets a response without waiting, and all are served when the engines return. */
  private static void allDieAtOnce() throws Exception {
    try (FaultRig rig = FaultRig.of(ENGINES, 0, Map.of("health.interval", "1s"))) {
      Load load = Load.on(rig);
      WaitFor.until("served", WaitFor.LONG, () -> load.served() > 100);
      for (ScriptedEngine engine : rig.engines()) {
        engine.stopListening();
      }
      WaitFor.until("told", WaitFor.LONG, () -> load.failed() > 100);
      for (ScriptedEngine engine : rig.engines()) {
        int before = engine.requests().size();
        engine.listenAgain();
        WaitFor.until("served again", WaitFor.LONG, () -> engine.requests().size() > before + 40);
      }
      load.stop();
      assertThat(load.seen()).isSubsetOf("200", "502", "503");
      assertThat(load.longestNanos()).isLessThan(TimeUnit.SECONDS.toNanos(AT_ONCE_SECONDS));
    }
  }

  /** With another healthy engine, no client sees a failure. */
  private static void flaps() throws Exception {
    try (FaultRig rig = FaultRig.beside(1, Map.of("health.interval", "1s"))) {
      Load load = Load.on(rig);
      for (int i = 0; i < 8; i++) {
        long served = load.served();
        rig.engine().stopListening();
        WaitFor.until("served without it", WaitFor.LONG, () -> load.served() > served + 20);
        rig.engine().listenAgain();
        WaitFor.until("served beside it", WaitFor.LONG, () -> load.served() > served + 40);
      }
      load.stop();
      assertThat(load.seen()).containsExactly("200");
    }
  }

  /** Clients that send requests one after the other and record the endings. */
  private static final class Load {
    private final AtomicBoolean over = new AtomicBoolean();
    private final Map<String, Integer> seen = new ConcurrentHashMap<>();
    private final LongAccumulator longest = new LongAccumulator(Math::max, 0);
    private final Queue<Thread> clients = new ConcurrentLinkedQueue<>();

    static Load on(FaultRig rig) {
      Load load = new Load();
      for (int i = 0; i < CLIENTS; i++) {
        load.clients.add(Thread.ofVirtual().start(() -> load.send(rig.port())));
      }
      return load;
    }

    private void send(int port) {
      while (!over.get()) {
        long start = System.nanoTime();
        String what;
        try {
          HttpAnswer answer =
              RawClient.call(port, "POST", "/v1/completions", FaultRig.request(false));
          what = answer.complete() ? "" + answer.status() : "cut";
        } catch (IOException e) {
          what = e.toString();
        }
        longest.accumulate(System.nanoTime() - start);
        seen.merge(what, 1, Integer::sum);
        WaitFor.pause(2); // spares the machine
      }
    }

    Iterable<String> seen() {
      return seen.keySet();
    }

    /** Duration of the slowest response. */
    long longestNanos() {
      return longest.get();
    }

    long served() {
      return seen.getOrDefault("200", 0);
    }

    long failed() {
      return seen.values().stream().mapToInt(Integer::intValue).sum() - served();
    }

    void stop() throws InterruptedException {
      over.set(true);
      for (Thread client : clients) {
        client.join();
      }
    }
  }
}
