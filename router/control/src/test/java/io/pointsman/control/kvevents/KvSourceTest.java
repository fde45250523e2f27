package io.pointsman.control.kvevents;

import static io.pointsman.control.kvevents.wire.Msgpack.list;
import static io.pointsman.control.kvevents.wire.Msgpack.pack;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.control.kvevents.KvEventTally.Count;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.zmq.EventFaults;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import io.pointsman.tool.sim.zmq.EventPublisher;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/** Lost, late, repeated and malformed batches, over sockets. */
@Timeout(240)
class KvSourceTest {
  private static final EventOptions OPTIONS = EventOptions.of(EventFormat.SGLANG);

  private static EventPublisher publisher(EventOptions options) {
    return new EventPublisher(options, "127.0.0.1", 1, 1);
  }

  /** Publishes one block with the id and token {@code block}. */
  private static void store(EventPublisher publisher, long block) {
    publisher.publish(stored(block));
  }

  private static byte[] stored(long block) {
    return pack(list(1.0, list(list("BlockStored", list(block), null, list(block), 1, null))));
  }

  private static Set<Long> range(long from, long to) {
    return LongStream.rangeClosed(from, to).boxed().collect(Collectors.toSet());
  }

  /** A new publisher at the same ports, as soon as they are free. */
  private static EventPublisher again(EventPublisher before) {
    EventOptions options =
        new EventOptions(
            OPTIONS.format(),
            before.port(),
            before.replayPort(),
            OPTIONS.rank(),
            OPTIONS.topic(),
            OPTIONS.buffered(),
            OPTIONS.faults(),
            OPTIONS.offload(),
            OPTIONS.connect());
    AtomicReference<@Nullable EventPublisher> opened = new AtomicReference<>();
    Await.until("the ports are free", () -> opens(options, opened));
    return Objects.requireNonNull(opened.get());
  }

  private static boolean opens(
      EventOptions options, AtomicReference<@Nullable EventPublisher> opened) {
    try {
      opened.set(publisher(options));
      return true;
    } catch (UncheckedIOException _) {
      return false;
    }
  }

  @Test
  void batchesAreAppliedInOrder() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      for (int i = 1; i <= 500; i++) {
        store(publisher, i);
      }
      listening.awaitBlocks(worker, range(1, 500));
      publisher.publish(pack(list(1.0, list(list("BlockRemoved", list(7, 8))))));
      publisher.publish(pack(list(1.0, list(list("AllBlocksCleared")))));
      listening.awaitBlocks(worker, Set.of());
      assertThat(listening.feed.cleared()).isEqualTo(1);
      assertThat(listening.tally.of(Count.REMOVED)).isEqualTo(1);
      assertThat(listening.feed.resets()).isZero();
    }
  }

  @Test
  void aLateSubscriberReplaysEverything() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      for (int i = 1; i <= 300; i++) {
        store(publisher, i);
      }
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitBlocks(worker, range(1, 300));
      listening.awaitLive(worker);
      assertThat(listening.feed.resets()).isZero();
    }
  }

  @Test
  void aLateSubscriberWithoutReplayKnowsOnlyNewBatches() {
    try (EventPublisher publisher = publisher(OPTIONS.withoutReplay());
        Listening listening = Listening.byLabels()) {
      store(publisher, 1);
      Worker worker = listening.add(publisher.port(), -1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      assertThat(listening.feed.live(worker, 0)).isFalse();
      store(publisher, 2);
      listening.awaitBlocks(worker, Set.of(2L));
      listening.awaitLive(worker);
    }
  }

  @Test
  void lostBatchesAreReplayed() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      publisher.faults(new EventFaults(0.3, 0, 0, 0));
      for (int i = 1; i <= 300; i++) {
        store(publisher, i);
      }
      publisher.faults(EventFaults.NONE);
      store(publisher, 301);
      listening.awaitBlocks(worker, range(1, 301));
      listening.awaitLive(worker);
      assertThat(listening.tally.of(Count.GAPS)).isPositive();
      assertThat(listening.feed.resets()).isZero();
    }
  }

  @Test
  void lostBatchesWithoutReplayResetTheFeed() {
    try (EventPublisher publisher = publisher(OPTIONS.withoutReplay());
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), -1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      publisher.faults(new EventFaults(1, 0, 0, 0));
      store(publisher, 2);
      publisher.faults(EventFaults.NONE);
      store(publisher, 3);
      listening.awaitBlocks(worker, Set.of(3L));
      listening.awaitLive(worker);
      assertThat(listening.tally.of(Count.RESETS_GAP)).isEqualTo(1);
    }
  }

  @Test
  void aPartialReplayResetsTheFeedAndTheRestCounts() {
    try (EventPublisher publisher = publisher(OPTIONS.withBuffered(5));
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      publisher.faults(new EventFaults(1, 0, 0, 0));
      for (int i = 2; i <= 10; i++) {
        store(publisher, i);
      }
      publisher.faults(EventFaults.NONE);
      store(publisher, 11);
      listening.awaitBlocks(worker, range(7, 11));
      listening.awaitLive(worker);
      assertThat(listening.tally.of(Count.REPLAYS_PARTIAL)).isEqualTo(1);
    }
  }

  @Test
  void aReplayThatDropsMessagesIsContinued() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      publisher.faults(new EventFaults(0, 0, 0, 10));
      for (int i = 1; i <= 25; i++) {
        store(publisher, i);
      }
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitBlocks(worker, range(1, 25));
      listening.awaitLive(worker);
      assertThat(listening.feed.resets()).isZero();
      assertThat(listening.tally.of(Count.REPLAYS_COMPLETE)).isEqualTo(1);
      assertThat(listening.tally.of(Count.REPLAYS_FAILED)).isZero();
    }
  }

  @Test
  void aReplayThatBringsOnlyKnownBatchesIsNotComplete() throws IOException {
    try (EventPublisher publisher = publisher(OPTIONS.withoutReplay());
        EndlessReplay replay = new EndlessReplay(List.of(stored(1), stored(2)));
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), replay.port());
      listening.await(Count.REPLAYS_FAILED, 1);
      listening.await(Count.RESETS_RESTART, 1);
      assertThat(listening.tally.of(Count.REPLAYS_COMPLETE)).isZero();
      assertThat(listening.feed.live(worker, 0)).isFalse();
      assertThat(listening.feed.blocks(worker, 0)).isEmpty();
    }
  }

  @Test
  void lateAndReorderedBatchesLoseNothing() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      publisher.faults(new EventFaults(0, 20, 0.5, 0));
      for (int i = 1; i <= 100; i++) {
        store(publisher, i);
      }
      publisher.faults(new EventFaults(0, 20, 0, 0));
      store(publisher, 101);
      listening.awaitBlocks(worker, range(1, 101));
      listening.await(Count.REPEATED, 1);
      assertThat(listening.feed.resets()).isZero();
    }
  }

  @Test
  void reorderedBatchesWithoutReplayAreNoRestart() {
    try (EventPublisher publisher = publisher(OPTIONS.withoutReplay());
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), -1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      store(publisher, 1);
      publisher.faults(new EventFaults(0, 0, 1, 0));
      store(publisher, 2);
      store(publisher, 3);
      publisher.faults(EventFaults.NONE);
      store(publisher, 4);
      listening.awaitBlocks(worker, Set.of(3L, 4L));
      assertThat(listening.tally.of(Count.RESETS_RESTART)).isZero();
    }
  }

  @Test
  void numbersThatGoBackwardsMeanANewPublisher() {
    try (EventPublisher publisher = publisher(OPTIONS.withoutReplay());
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), -1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      for (int i = 1; i <= 20; i++) {
        store(publisher, i);
      }
      listening.awaitBlocks(worker, range(1, 20));
      publisher.countAnew();
      store(publisher, 100);
      listening.awaitBlocks(worker, Set.of(100L));
      assertThat(listening.tally.of(Count.CONNECTS)).isEqualTo(1);
      assertThat(listening.tally.of(Count.RESETS_RESTART)).isEqualTo(1);
      assertThat(listening.feed.restarts()).isEqualTo(1);
    }
  }

  @Test
  void aPublisherWithoutItsLastBatchHasRestarted() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      for (int i = 1; i <= 20; i++) {
        store(publisher, i);
      }
      listening.awaitBlocks(worker, range(1, 20));
      publisher.restart();
      store(publisher, 100);
      listening.awaitBlocks(worker, Set.of(100L));
      listening.awaitLive(worker);
      assertThat(listening.tally.of(Count.RESETS_RESTART)).isEqualTo(1);
      assertThat(listening.feed.restarts()).isEqualTo(1);
    }
  }

  @Test
  void aRestartedPublisherWithHigherNumbersIsDetected() {
    EventPublisher first = publisher(OPTIONS);
    try (first;
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(first.port(), first.replayPort());
      listening.awaitLive(worker, first);
      store(first, 1);
      store(first, 2);
      listening.awaitBlocks(worker, range(1, 2));
      long before = System.nanoTime();
      first.close();
      Await.until("not complete", () -> !listening.feed.live(worker, 0));
      assertThat(listening.feed.blocks(worker, 0)).isEqualTo(range(1, 2));
      try (EventPublisher second = again(first)) {
        long opened = System.nanoTime();
        for (int i = 50; i < 60; i++) {
          store(second, i);
        }
        listening.awaitBlocks(worker, range(50, 59));
        listening.awaitLive(worker);
        assertThat(listening.feed.restarts()).isPositive();
        assertLostBetween(before, opened, listening);
      }
    }
  }

  @Test
  void aBrokenConnectionLosesNothingWithReplay() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      publisher.hangUp();
      store(publisher, 2);
      listening.awaitBlocks(worker, range(1, 2));
      listening.await(Count.CONNECTS, 2);
      listening.awaitLive(worker);
      assertThat(listening.feed.resets()).isZero();
    }
  }

  @Test
  void anInterruptedReplayIsNoRestart() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      for (int i = 1; i <= 5; i++) {
        store(publisher, i);
      }
      listening.awaitBlocks(worker, range(1, 5));
      // The batches are replayed at once and sent again after the reconnect; the last one breaks
      // the replay.
      publisher.faults(new EventFaults(0, 5000, 0, 0));
      publisher.hangUp();
      store(publisher, 6);
      store(publisher, 7);
      publisher.publish(pack(list(1.0, list(), new byte[2 << 20])));
      listening.await(Count.REPLAYS_FAILED, 1);
      listening.await(Count.MALFORMED, 1);
      assertThat(listening.feed.restarts()).isZero();
      assertThat(listening.tally.of(Count.REPEATED)).as("sent late").isPositive();
    }
  }

  @Test
  void aBrokenConnectionWithoutReplayResetsTheFeed() {
    try (EventPublisher publisher = publisher(OPTIONS.withoutReplay());
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), -1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      publisher.hangUp();
      listening.awaitBlocks(worker, Set.of());
      assertThat(listening.tally.of(Count.RESETS_RESTART)).isEqualTo(1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      store(publisher, 2);
      listening.awaitBlocks(worker, Set.of(2L));
      assertThat(listening.feed.restarts()).as("it has gone on").isZero();
    }
  }

  @Test
  void aRestartIsDetectedWithoutReplayToo() {
    EventPublisher first = publisher(OPTIONS.withoutReplay());
    try (first;
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(first.port(), -1);
      Await.until("a subscriber", () -> first.subscribers() == 1);
      for (int i = 1; i <= 5; i++) {
        store(first, i);
      }
      listening.awaitBlocks(worker, range(1, 5));
      long before = System.nanoTime();
      first.close();
      try (EventPublisher second = again(first)) {
        Await.until("a subscriber", () -> second.subscribers() == 1);
        long connected = System.nanoTime();
        store(second, 50);
        listening.awaitBlocks(worker, Set.of(50L));
        assertThat(listening.feed.restarts()).isEqualTo(1);
        assertLostBetween(before, connected, listening);
      }
    }
  }

  /** A restart does not lose placements after the disconnect, however late it is detected. */
  private static void assertLostBetween(long from, long to, Listening listening) {
    assertThat(listening.feed.lostUntil() - from).isNotNegative();
    assertThat(to - listening.feed.lostUntil()).isNotNegative();
  }

  @Test
  void aMalformedBatchResetsTheFeedAndTheNextOnesCount() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      publisher.publish(new byte[] {(byte) 0xc1});
      store(publisher, 3);
      listening.awaitBlocks(worker, Set.of(3L));
      listening.awaitLive(worker);
      assertThat(listening.tally.of(Count.MALFORMED)).isEqualTo(1);
      assertThat(listening.tally.of(Count.RESETS_MALFORMED)).isEqualTo(1);
    }
  }

  @Test
  void aTooLargeMessageIsSkipped() {
    try (EventPublisher publisher = publisher(OPTIONS.withoutReplay());
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), -1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      publisher.publish(pack(list(1.0, list(), new byte[2 << 20])));
      store(publisher, 3);
      listening.awaitBlocks(worker, Set.of(3L));
      assertThat(listening.tally.of(Count.CONNECTS)).isEqualTo(1);
      assertThat(listening.tally.of(Count.MALFORMED)).isEqualTo(1);
    }
  }

  private static void storeAs(int rank, EventPublisher publisher, long block) {
    Object event = list("BlockStored", list(block), null, list(block), 1, null);
    publisher.publish(pack(list(1.0, list(event), rank)));
  }

  /** A worker with only rank 0 configured, at an endpoint for all workers. */
  private static Listening ofRankZero(EventPublisher publisher) {
    return new Listening(
        new KvEventSettings(
            KvEventSettings.Mode.STATIC,
            "tcp://127.0.0.1:" + publisher.port(),
            "tcp://127.0.0.1:" + publisher.replayPort(),
            "",
            1,
            Duration.ofMillis(200),
            Listening.LIMITS));
  }

  @Test
  void batchesOfAnotherRankAreDroppedAndTheRankIsNotLive() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = ofRankZero(publisher)) {
      Worker worker = listening.add("http://127.0.0.1:1", Map.of());
      listening.awaitLive(worker, publisher);
      storeAs(1, publisher, 9);
      listening.await(Count.WRONG_RANK, 1);
      Await.until("not complete", () -> !listening.feed.live(worker, 0));
      store(publisher, 2);
      listening.awaitBlocks(worker, Set.of(2L));
      listening.awaitLive(worker);
      assertThat(listening.tally.of(Count.WRONG_RANK)).isEqualTo(1);
      assertThat(listening.feed.resets()).isZero();
    }
  }

  @Test
  void aFrequentProblemDoesNotHideOthers() {
    Logger logger = (Logger) LoggerFactory.getLogger(KvSource.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.list = new CopyOnWriteArrayList<>();
    logged.start();
    logger.addAppender(logged);
    logger.setLevel(Level.WARN);
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = ofRankZero(publisher)) {
      Worker worker = listening.add("http://127.0.0.1:1", Map.of());
      listening.awaitLive(worker, publisher);
      storeAs(1, publisher, 8);
      storeAs(1, publisher, 9);
      publisher.publish(new byte[] {(byte) 0xc1});
      listening.await(Count.RESETS_MALFORMED, 1);
      assertThat(logged.list)
          .extracting(ILoggingEvent::getFormattedMessage)
          .satisfiesExactly(
              first -> assertThat(first).contains("a batch of rank 1"),
              second -> assertThat(second).doesNotContain("rank 1"));
    } finally {
      logger.setLevel(null);
      logger.detachAppender(logged);
    }
  }

  @Test
  void aReplayOfAnotherRanksBatchesIsNotComplete() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = ofRankZero(publisher)) {
      storeAs(2, publisher, 1);
      Worker worker = listening.add("http://127.0.0.1:1", Map.of());
      listening.await(Count.REPLAYS_COMPLETE, 1);
      storeAs(2, publisher, 2);
      listening.await(Count.WRONG_RANK, 2);
      assertThat(listening.feed.live(worker, 0)).isFalse();
    }
  }

  @Test
  void theOnlyPublisherInALabelMayHaveAnyRank() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      storeAs(2, publisher, 1);
      storeAs(2, publisher, 2);
      listening.awaitBlocks(worker, range(1, 2));
      listening.awaitLive(worker);
      assertThat(listening.tally.of(Count.WRONG_RANK)).isZero();
    }
  }

  @Test
  void aFeedThatThrowsEndsNothing() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      listening.feed.breakOnce();
      store(publisher, 1);
      store(publisher, 2);
      listening.awaitBlocks(worker, Set.of(2L));
      assertThat(listening.tally.of(Count.RESETS_DEFECT)).isEqualTo(1);
      assertThat(listening.feed.resets()).isEqualTo(1);
    }
  }

  @Test
  void aDefectInTheRouterResetsTheFeedAndTheSourceContinues() {
    try (EventPublisher publisher = publisher(OPTIONS.withoutReplay());
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), -1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      listening.awaitLive(worker);
      listening.breakOnce();
      store(publisher, 2);
      listening.await(Count.RESETS_DEFECT, 1);
      listening.await(Count.CONNECTS, 2);
      assertThat(listening.feed.live(worker, 0)).isFalse();
      assertThat(listening.feed.blocks(worker, 0)).isEmpty();
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      store(publisher, 3);
      listening.awaitBlocks(worker, Set.of(3L));
      listening.awaitLive(worker);
      assertThat(listening.tally.of(Count.RESETS_RESTART)).as("left to the next one").isZero();
    }
  }

  @Test
  void anErrorLeavesNoCacheMarkedAsComplete() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      listening.feed.failOnce(new AssertionError("planted"));
      store(publisher, 2);
      listening.await(Count.RESETS_DEFECT, 1);
      listening.awaitBlocks(worker, range(1, 2));
      listening.awaitLive(worker);
    }
  }

  @Test
  void aBatchLostToADefectIsReplayed() {
    try (EventPublisher publisher = publisher(OPTIONS);
        Listening listening = Listening.byLabels()) {
      Worker worker = listening.add(publisher.port(), publisher.replayPort());
      listening.awaitLive(worker, publisher);
      store(publisher, 1);
      listening.awaitBlocks(worker, Set.of(1L));
      listening.breakOnce();
      store(publisher, 2);
      listening.await(Count.RESETS_DEFECT, 1);
      listening.awaitBlocks(worker, range(1, 2));
      listening.awaitLive(worker);
    }
  }

  @Test
  void anotherTopicIsIgnored() {
    EventOptions longer = OPTIONS.withTopic("kv-of-others");
    try (EventPublisher publisher = publisher(longer);
        Listening listening =
            new Listening(Listening.settings(KvEventSettings.Mode.STATIC, "kv"))) {
      Worker worker = listening.add(publisher.port(), -1);
      Await.until("a subscriber", () -> publisher.subscribers() == 1);
      store(publisher, 1);
      try (EventPublisher right = publisher(OPTIONS.withTopic("kv"))) {
        Worker other = listening.add(right.port(), right.replayPort());
        listening.awaitLive(other, right);
        store(right, 2);
        listening.awaitBlocks(other, Set.of(2L));
      }
      assertThat(listening.feed.blocks(worker, 0)).isEmpty();
      assertThat(listening.tally.of(Count.MALFORMED)).isZero();
    }
  }
}
