package io.pointsman.tool.replay.run;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed;
import io.pointsman.engine.kv.KvTier;
import io.pointsman.tool.replay.run.SimulationSettings.Announcements;
import io.pointsman.tool.sim.cache.CacheListener;
import io.pointsman.tool.sim.cache.PromptOrigin;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The event stream of one simulated engine to the router: one batch for each moment, delayed, and
 * some of them lost. There is no replay: after a loss only new events count.
 */
final class EventLine implements CacheListener {
  private record DelayedBatch(long at, List<KvEvent> events, boolean lost) {}

  private final Worker worker;
  private final KvFeed feed;
  private final SimulatedTime time;
  private final int blockSize;
  private final long lateNanos;
  private final double lost;
  private final SplittableRandom random;
  private final Deque<DelayedBatch> coming = new ArrayDeque<>();
  private boolean gap;

  EventLine(
      Worker worker,
      KvFeed feed,
      SimulatedTime time,
      int blockSize,
      Announcements announcements,
      SplittableRandom random) {
    this.worker = worker;
    this.feed = feed;
    this.time = time;
    this.blockSize = blockSize;
    lateNanos = Math.round(announcements.lateSeconds() * 1e9);
    lost = announcements.lost();
    this.random = random;
    feed.live(worker, 0, true);
  }

  @Override
  public void stored(PromptOrigin origin, long[] hashes, int from, int to) {
    if (from < to) {
      send(
          new KvEvent.Stored(
              Arrays.copyOfRange(hashes, from, to),
              from == 0 ? null : Long.valueOf(hashes[from - 1]),
              Arrays.copyOfRange(origin.tokens(), from * blockSize, to * blockSize),
              blockSize,
              KvTier.DEVICE,
              null,
              true));
    }
  }

  @Override
  public void removed(long hash) {
    send(new KvEvent.Removed(new long[] {hash}, KvTier.DEVICE));
  }

  @Override
  public void cleared() {
    send(new KvEvent.Cleared());
  }

  private void send(KvEvent event) {
    DelayedBatch last = coming.peekLast();
    long at = time.nanos() + lateNanos;
    if (last == null || last.at() != at) {
      last = new DelayedBatch(at, new ArrayList<>(), random.nextDouble() < lost);
      coming.add(last);
    }
    last.events().add(event);
  }

  /** Delivers the events that have arrived by now. */
  void deliver() {
    for (DelayedBatch first = coming.peek();
        first != null && first.at() <= time.nanos();
        first = coming.peek()) {
      coming.remove();
      if (first.lost()) {
        gap = true;
        continue;
      }
      if (gap) {
        feed.reset(worker, 0, KvFeed.Cause.MISSED);
        gap = false;
      }
      feed.apply(worker, 0, first.events());
    }
  }
}
