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
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Faults of several engines under load. Tests of the proxy cover faults of names. */
@Timeout(180)
final class FleetFaultsTest {
  private static final int CLIENTS = 16;
  private static final int ENGINES = 3;

  @ParameterizedTest
  @EnumSource(names = {"ALL_DIE_AT_ONCE", "FLAPS"})
  void underLoad(FleetFault fault) throws Exception {
    switch (fault) {
      case ALL_DIE_AT_ONCE -> allDieAtOnce();
      case FLAPS -> flaps();
      default -> throw new AssertionError(fault + ": has a test of its own");
    }
  }

  /**
   * Every client gets an error while no engine runs, so none waits for one. All are served when the
   * engines return.
   */
  private static void allDieAtOnce() throws Exception {
    try (FaultRig rig = FaultRig.of(ENGINES, 0, Map.of("health.interval", "1s"))) {
      Load load = Load.on(rig);
      WaitFor.until("served", WaitFor.LONG, () -> load.served() > 100);
      for (ScriptedEngine engine : rig.engines()) {
        engine.stopListening();
      }
      WaitFor.until("refused", WaitFor.LONG, () -> load.failed() > 100);
      WaitFor.until("each is refused", WaitFor.LONG, () -> load.refusedClients() == CLIENTS);
      for (ScriptedEngine engine : rig.engines()) {
        int before = engine.requests().size();
        engine.listenAgain();
        WaitFor.until("served again", WaitFor.LONG, () -> engine.requests().size() > before + 40);
      }
      load.stop();
      assertThat(load.seen()).isSubsetOf("200", "502", "503");
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
    private final Set<Thread> refused = ConcurrentHashMap.newKeySet();
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
        String what;
        try {
          HttpAnswer answer =
              RawClient.call(port, "POST", "/v1/completions", FaultRig.request(false));
          what = answer.complete() ? "" + answer.status() : "cut";
        } catch (IOException e) {
          what = e.toString();
        }
        if (!what.equals("200")) {
          refused.add(Thread.currentThread());
        }
        seen.merge(what, 1, Integer::sum);
        WaitFor.pause(2); // spares the machine
      }
    }

    Iterable<String> seen() {
      return seen.keySet();
    }

    /** Number of clients that got another end than 200. */
    int refusedClients() {
      return refused.size();
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
