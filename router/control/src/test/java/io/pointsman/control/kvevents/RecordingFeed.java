package io.pointsman.control.kvevents;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A feed that records its calls like an index. */
final class RecordingFeed implements KvFeed {
  private final Map<String, Set<Long>> blocks = new TreeMap<>();
  private final Map<String, Long> batches = new TreeMap<>();
  private final Set<String> live = new TreeSet<>();
  private final Set<String> subscribed = new TreeSet<>();
  private final List<KvEvent.Stored> stored = new ArrayList<>();
  private final Set<String> inside = new HashSet<>();
  private int resets;
  private int restarts;
  private long lostUntil;
  private int cleared;
  private boolean overlapped;
  private @Nullable Error error;
  private boolean broken;

  private static String key(Worker worker, int rank) {
    return worker.id() + "/" + rank;
  }

  @Override
  public void apply(Worker worker, int rank, Iterable<? extends KvEvent> events) {
    enter(worker);
    synchronized (this) {
      if (broken) {
        broken = false;
        inside.remove(worker.id());
        throw new IllegalStateException("planted");
      }
      if (error != null) {
        Error thrown = error;
        error = null;
        inside.remove(worker.id());
        throw thrown;
      }
      Set<Long> held = blocks.computeIfAbsent(key(worker, rank), _ -> new TreeSet<>());
      for (KvEvent event : events) {
        switch (event) {
          case KvEvent.Stored one -> {
            stored.add(one);
            for (long block : one.blocks()) {
              held.add(block);
            }
          }
          case KvEvent.Removed one -> {
            for (long block : one.blocks()) {
              held.remove(block);
            }
          }
          case KvEvent.Cleared _ -> {
            cleared++;
            held.clear();
          }
        }
      }
      batches.merge(key(worker, rank), 1L, Long::sum);
      inside.remove(worker.id());
    }
  }

  /** Checks that calls for a worker do not overlap. */
  private synchronized void enter(Worker worker) {
    overlapped |= !inside.add(worker.id());
  }

  @Override
  public synchronized void reset(Worker worker, int rank, Cause cause) {
    resets++;
    if (cause == Cause.GONE) {
      subscribed.remove(key(worker, rank));
    }
    blocks.remove(key(worker, rank));
  }

  @Override
  public synchronized void restarted(Worker worker, int rank, long until) {
    resets++;
    restarts++;
    lostUntil = until;
    blocks.remove(key(worker, rank));
  }

  @Override
  public synchronized void live(Worker worker, int rank, boolean now) {
    subscribed.add(key(worker, rank));
    if (now) {
      live.add(key(worker, rank));
    } else {
      live.remove(key(worker, rank));
    }
  }

  /** Makes the next call with events throw an exception. */
  synchronized void breakOnce() {
    broken = true;
  }

  /** Makes the next call with events throw an error. */
  synchronized void failOnce(Error planted) {
    error = planted;
  }

  synchronized Set<Long> blocks(Worker worker, int rank) {
    return new TreeSet<>(blocks.getOrDefault(key(worker, rank), Set.of()));
  }

  synchronized long batches(Worker worker, int rank) {
    return batches.getOrDefault(key(worker, rank), 0L);
  }

  synchronized boolean live(Worker worker, int rank) {
    return live.contains(key(worker, rank));
  }

  /** True if the rank was reported, with complete state or not. */
  synchronized boolean subscribed(Worker worker, int rank) {
    return subscribed.contains(key(worker, rank));
  }

  synchronized List<KvEvent.Stored> stored() {
    return List.copyOf(stored);
  }

  synchronized int resets() {
    return resets;
  }

  /** Number of resets because of a certain restart. */
  synchronized int restarts() {
    return restarts;
  }

  /** Time up to which placements are lost, from the last restart. */
  synchronized long lostUntil() {
    return lostUntil;
  }

  synchronized int cleared() {
    return cleared;
  }

  synchronized boolean overlapped() {
    return overlapped;
  }
}
