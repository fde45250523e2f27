package io.pointsman.control.health;

import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.engine.env.RandomSource;
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
 * Due times of probes. A new worker is due immediately. A healthy one is due after the interval ±
 * 10 %, any other after a pause that doubles. Performs no I/O; guarded by {@link Prober}'s lock.
 */
final class ProbeSchedule {
  /** Number of attempts to read the models; with the pauses between them about two seconds. */
  private static final int MODELS_TRIES = 4;

  /** Shortest time between reads of a worker's models because of refused requests. */
  private static final long MISSING_PAUSE_NANOS = 1_000_000_000L;

  private ProbeSettings settings;
  private final RandomSource random;
  private final Map<Worker, Entry> entries = new HashMap<>();
  private final TreeSet<Entry> waiting = new TreeSet<>(ProbeSchedule::inOrder);
  private long serial;

  /** Replaces the settings; probes that are due keep their time. */
  void configure(ProbeSettings next) {
    settings = next;
  }

  ProbeSchedule(ProbeSettings settings, RandomSource random) {
    this.settings = settings;
    this.random = random;
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
    private boolean neverSleeps;
    private int modelsFailures;
    private boolean warnedOfModels;
    private long modelsDueAt;
    private boolean modelsMissed;
    private long modelsMissedAt;
    private long missingPause;
    private boolean warnedOfMissing;

    /** The worker's models when it refused a request for one of them. */
    private Set<String> missedIn = Set.of();

    Entry(Worker worker, long serial, long dueAt) {
      this.worker = worker;
      this.serial = serial;
      this.dueAt = dueAt;
    }
  }

  /**
   * Compares by difference, because the ticker's origin is arbitrary and its values may overflow.
   */
  private static int inOrder(Entry a, Entry b) {
    long later = a.dueAt - b.dueAt;
    return later != 0 ? Long.signum(later) : Long.compare(a.serial, b.serial);
  }

  /** Adds new workers and drops workers that are not in {@code workers}. */
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

  /**
   * Nanoseconds until the next worker is due; 0 or less if one is due, the maximum if none waits.
   */
  long untilDue(long now) {
    return waiting.isEmpty() ? Long.MAX_VALUE : waiting.first().dueAt - now;
  }

  /** A due worker, which is then marked as being probed; null if none is due. */
  @Nullable Worker takeDue(long now) {
    if (untilDue(now) > 0) {
      return null;
    }
    Entry entry = waiting.removeFirst();
    entry.running = true;
    entry.again = false;
    return entry.worker;
  }

  /** Makes a worker due immediately, because it may be unhealthy. */
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
   * Records the end of a probe.
   *
   * @param settled true if the worker is healthy and its models are known
   */
  void finished(Worker worker, boolean good, boolean settled, long now) {
    Entry entry = entries.get(worker);
    if (entry == null || !entry.running) {
      return;
    }
    entry.running = false;
    if (!good) {
      entry.modelsSeen = false;
      entry.neverSleeps = false;
      entry.modelsFailures = 0;
      entry.warnedOfModels = false;
    }
    wait(entry, entry.again ? now : now + pause(entry, settled));
  }

  private long pause(Entry entry, boolean settled) {
    boolean first = settled && !entry.settled;
    entry.settled = settled;
    long interval = settings.interval().toNanos();
    if (first) {
      entry.pause = 0;
      return share(interval, 100 + random.roll(1000));
    }
    if (settled) {
      return share(interval, 900 + random.roll(201));
    }
    long longest = Math.min(settings.mostRetry().toNanos(), interval);
    long shortest = Math.min(settings.firstRetry().toNanos(), longest);
    entry.pause = entry.pause == 0 ? shortest : Math.min(entry.pause * 2, longest);
    return share(entry.pause, 900 + random.roll(201));
  }

  private static long share(long nanos, int thousandths) {
    return nanos / 1000 * thousandths;
  }

  private void wait(Entry entry, long dueAt) {
    waiting.remove(entry);
    entry.dueAt = dueAt;
    waiting.add(entry);
  }

  /** True if the worker must be asked whether it sleeps. */
  boolean sleepDue(Worker worker) {
    Entry entry = entries.get(worker);
    return entry != null && !entry.neverSleeps;
  }

  /** Records that the engine cannot say whether it sleeps; it is asked again after an outage. */
  void neverSleeps(Worker worker) {
    Entry entry = entries.get(worker);
    if (entry != null) {
      entry.neverSleeps = true;
    }
  }

  /** True if the worker's models must be read. */
  boolean modelsDue(Worker worker, long now) {
    Entry entry = entries.get(worker);
    if (entry == null || !worker.spec().models().isEmpty()) {
      return false;
    }
    Duration interval = settings.modelsInterval();
    return !entry.modelsSeen || (interval.isPositive() && now - entry.modelsDueAt >= 0);
  }

  /**
   * Makes the models of a worker due, because it refused a request for one of them. At most once a
   * second. If the new list is the same, the pause doubles, up to the interval between reads.
   *
   * @return false if this came too early after the last time, or the models are configured
   */
  boolean modelMissing(Worker worker, long now) {
    Entry entry = entries.get(worker);
    if (entry == null || !worker.spec().models().isEmpty()) {
      return false;
    }
    noteList(entry);
    boolean repeated = entry.missingPause > 0;
    long pause = repeated ? entry.missingPause : MISSING_PAUSE_NANOS;
    if (entry.modelsMissed && now - entry.modelsMissedAt < pause) {
      return false;
    }
    long longest = Math.max(MISSING_PAUSE_NANOS, settings.modelsInterval().toNanos());
    entry.missingPause = repeated ? Math.min(pause * 2, longest) : pause;
    entry.modelsMissed = true;
    entry.modelsMissedAt = now;
    entry.modelsSeen = false;
    hurry(worker, now);
    return true;
  }

  /** Begins again with a short pause and a line of the log if the worker's models have changed. */
  private static void noteList(Entry entry) {
    Set<String> listed = entry.worker.models();
    if (!listed.equals(entry.missedIn)) {
      entry.missedIn = listed;
      entry.missingPause = 0;
      entry.warnedOfMissing = false;
    }
  }

  /**
   * True at the first refusal of a request for a model of the worker, until its models change: the
   * log gets one line for each list.
   */
  boolean warnsOfMissing(Worker worker) {
    Entry entry = entries.get(worker);
    if (entry == null) {
      return false;
    }
    noteList(entry);
    boolean first = !entry.warnedOfMissing;
    entry.warnedOfMissing = true;
    return first;
  }

  /**
   * Records that a healthy worker gave no usable response with its models.
   *
   * @return true after so many failures that the worker is used without known models
   */
  boolean modelsFailed(Worker worker) {
    Entry entry = entries.get(worker);
    return entry != null && ++entry.modelsFailures >= MODELS_TRIES;
  }

  /** True at the first call in a series of failures: the log gets one line for each series. */
  boolean warnsOfModels(Worker worker) {
    Entry entry = entries.get(worker);
    if (entry == null || entry.warnedOfModels) {
      return false;
    }
    entry.warnedOfModels = true;
    return true;
  }

  /** Records that the worker has reported its models, or that it does not report any. */
  void modelsSeen(Worker worker, long now) {
    Entry entry = entries.get(worker);
    if (entry != null) {
      entry.modelsSeen = true;
      entry.modelsFailures = 0;
      entry.warnedOfModels = false;
      entry.modelsDueAt = now + settings.modelsInterval().toNanos();
    }
  }
}
