package io.pointsman.control.kvevents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.settings.ZmqAddress;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.zmtp.ZmtpClient;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import io.pointsman.tool.sim.zmq.EventPublisher;
import java.io.IOException;
import java.net.InetAddress;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The memory of replays, over sockets. */
@Timeout(240)
class ReplayTest {
  private static final int PAYLOAD = 1000;
  private static final int BATCH = PAYLOAD + 64;
  private static final int BATCHES = 30;
  private static final int BUDGET = 10 * BATCH;
  private static final List<Long> ALL = LongStream.range(0, BATCHES).boxed().toList();

  private final Semaphore budget = new Semaphore(BUDGET);

  private static EventPublisher publisher() {
    EventPublisher publisher =
        new EventPublisher(EventOptions.of(EventFormat.SGLANG), "127.0.0.1", 1, 1);
    for (int i = 0; i < BATCHES; i++) {
      publisher.publish(new byte[PAYLOAD]);
    }
    return publisher;
  }

  private Replay replay(EventPublisher publisher) {
    ZmqAddress endpoint = ZmqAddress.of("tcp://127.0.0.1:" + publisher.replayPort());
    return new Replay(
        endpoint,
        new AddressRotation(endpoint, InetAddress::getAllByName),
        new KvSource.Shared(
            () -> Listening.LIMITS,
            new KvEventTally(),
            new SystemTicker(),
            InstantSource.system(),
            budget));
  }

  private boolean ask(EventPublisher publisher, Replay.Sink sink) throws IOException {
    Replay replay = replay(publisher);
    try (ZmtpClient client = replay.client()) {
      return replay.ask(client, 0, replay.deadline(), sink);
    }
  }

  @Test
  void allReplaysShareOneBudgetAndNoneWaitsForIt() throws Exception {
    CountDownLatch gate = new CountDownLatch(1);
    List<Long> slow = new CopyOnWriteArrayList<>();
    try (EventPublisher first = publisher();
        EventPublisher second = publisher();
        EventPublisher third = publisher()) {
      FutureTask<Boolean> asked =
          new FutureTask<>(
              () ->
                  ask(
                      first,
                      (seq, _) -> {
                        awaitOpen(gate);
                        return slow.add(seq);
                      }));
      Thread.ofVirtual().start(asked);
      Await.until("the first one has the budget", () -> budget.availablePermits() < BATCH);
      for (EventPublisher other : List.of(second, third)) {
        List<Long> seen = new CopyOnWriteArrayList<>();
        assertThat(ask(other, (seq, _) -> seen.add(seq))).isTrue();
        assertThat(seen).isEqualTo(ALL);
      }
      assertThat(budget.availablePermits()).as("still in use by the first one").isLessThan(BATCH);
      gate.countDown();
      assertThat(asked.get()).isTrue();
    } finally {
      gate.countDown();
    }
    assertThat(slow).isEqualTo(ALL);
    assertThat(budget.availablePermits()).isEqualTo(BUDGET);
  }

  private static void awaitOpen(CountDownLatch gate) {
    try {
      gate.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aFailureGivesTheBudgetBack() {
    try (EventPublisher publisher = publisher()) {
      assertThatThrownBy(
              () ->
                  ask(
                      publisher,
                      (_, _) -> {
                        throw new IllegalStateException("planted");
                      }))
          .hasMessage("planted");
    }
    assertThat(budget.availablePermits()).isEqualTo(BUDGET);
  }

  @Test
  void theBudgetIsASixteenthOfTheHeapAndAtMost64MiB() {
    assertThat(Replay.readAhead(96L << 20).availablePermits()).isEqualTo(6 << 20);
    assertThat(Replay.readAhead(1L << 30).availablePermits()).isEqualTo(64 << 20);
    assertThat(Replay.readAhead(1L << 40).availablePermits()).isEqualTo(64 << 20);
  }
}
