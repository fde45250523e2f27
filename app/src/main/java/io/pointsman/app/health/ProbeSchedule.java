package io.pointsman.app.health;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Which worker is to be probed when. A new worker is due at once, one that is well after the
 * interval, give or take a tenth, one that is not after a pause that doubles. Pure state, owned by
 * whoever holds {@link Prober}'s lock.
 */
final class ProbeSchedule {
  /** With the pauses between probes, about two seconds. */
  private static final int MODELS_TRIES = 4;

  private final ProbeSettings settings;
  private final Dice dice;
  private final Map<Worker, Entry> entries = new HashMap<>();
  private final TreeSet<Entry> waiting = new TreeSet<>(ProbeSchedule::inOrder);
  private long serial;

  ProbeSchedule(ProbeSettings settings, Dice dice) {
    this.settings = settings;
    this.dice = dice;
  }

  private static final class Entry {
    private final Worker worker;
    private final long serial;
    private long dueAt;
    private long pause;
    private boolean settled;
    private boolean running;
    private boolean again;
    private boolean modelsSeen;
    private int modelsFailures;
    private long modelsDueAt;

    Entry(Worker worker, long serial, long dueAt) {
      this.worker = worker;
      this.serial = serial;
      this.dueAt = dueAt;
    }
  }

  /** By difference, since the ticker's origin is arbitrary and its values may wrap around. */
  private static int inOrder(Entry a, Entry b) {
    long later = a.dueAt - b.dueAt;
    return later != 0 ? Long.signum(later) : Long.compare(a.serial, b.serial);
  }

  /** Takes on workers that are new, and drops those that are not among {@code workers}. */
  void follow(Collection<Worker> workers, long now) {
    Set<Worker> gone = new HashSet<>(entries.keySet());
    for (Worker worker : workers) {
      if (!gone.remove(worker)) {
        Entry entry = new Entry(worker, serial++, now);
        entries.put(worker, entry);
        waiting.add(entry);
      }
    }
    for (Worker worker : gone) {
      Entry entry = entries.remove(worker);
      if (entry != null) {
        waiting.remove(entry);
      }
    }
  }

  /** Nanoseconds until a worker is due; 0 or less if one is, far away if none waits. */
  long untilDue(long now) {
    return waiting.isEmpty() ? Long.MAX_VALUE : waiting.first().dueAt - now;
  }

  /** A worker that is due, from now on taken as being probed; null if none is. */
  @Nullable Worker takeDue(long now) {
    if (untilDue(now) > 0) {
      return null;
    }
    Entry entry = waiting.removeFirst();
    entry.running = true;
    entry.again = false;
    return entry.worker;
  }

  /** Makes a worker due at once: there is reason to think that it is not well. */
  void hurry(Worker worker, long now) {
    Entry entry = entries.get(worker);
    if (entry == null) {
      return;
    }
    entry.pause = 0;
    if (entry.running) {
      entry.again = true;
    } else {
      wait(entry, now);
    }
  }

  /**
   * A probe has ended.
   *
   * @param settled whether the worker is well and nothing more is to be learned of it for the time
   *     being
   */
  void finished(Worker worker, boolean good, boolean settled, long now) {
    Entry entry = entries.get(worker);
    if (entry == null || !entry.running) {
      return;
    }
    entry.running = false;
    if (!good) {
      entry.modelsSeen = false;
      entry.modelsFailures = 0;
    }
    wait(entry, entry.again ? now : now + pause(entry, settled));
  }

  private long pause(Entry entry, boolean settled) {
    boolean first = settled && !entry.settled;
    entry.settled = settled;
    long interval = settings.interval().toNanos();
    if (first) {
      entry.pause = 0;
      return share(interval, 100 + dice.roll(1000));
    }
    if (settled) {
      return share(interval, 900 + dice.roll(201));
    }
    long longest = Math.min(settings.mostRetry().toNanos(), interval);
    long shortest = Math.min(settings.firstRetry().toNanos(), longest);
    entry.pause = entry.pause == 0 ? shortest : Math.min(entry.pause * 2, longest);
    return share(entry.pause, 900 + dice.roll(201));
  }

  private static long share(long nanos, int thousandths) {
    return nanos / 1000 * thousandths;
  }

  private void wait(Entry entry, long dueAt) {
    waiting.remove(entry);
    entry.dueAt = dueAt;
    waiting.add(entry);
  }

  /** Whether it is time to ask the worker for its models. */
  boolean modelsDue(Worker worker, long now) {
    Entry entry = entries.get(worker);
    if (entry == null || !worker.spec().models().isEmpty()) {
      return false;
    }
    Duration interval = settings.modelsInterval();
    return !entry.modelsSeen || (interval.isPositive() && now - entry.modelsDueAt >= 0);
  }

  /**
   * The worker, though well, gave no usable answer to the question for its models.
   *
   * @return whether that has happened so often in a row that it is not to be waited for
   */
  boolean modelsFailed(Worker worker) {
    Entry entry = entries.get(worker);
    return entry != null && ++entry.modelsFailures >= MODELS_TRIES;
  }

  /** The worker has said what it serves, or that it does not tell. */
  void modelsSeen(Worker worker, long now) {
    Entry entry = entries.get(worker);
    if (entry != null) {
      entry.modelsSeen = true;
      entry.modelsFailures = 0;
      entry.modelsDueAt = now + settings.modelsInterval().toNanos();
    }
  }
}
