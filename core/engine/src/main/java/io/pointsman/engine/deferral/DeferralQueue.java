package io.pointsman.engine.deferral;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.deferral.Deferral.Waiter;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A queue of deferred requests that compete for the same workers, in order of arrival. It also
 * counts the requests deferred in vain, and keeps this count while it is empty.
 *
 * <p>Changed under the lock of {@link Deferral}. Any thread may read its size and whether it
 * pauses.
 */
final class DeferralQueue {
  /** Surplus of requests deferred in vain that starts a pause. */
  private static final int VAIN = 16;

  /** Length of a pause, in longest deferrals: one minute by default. */
  private static final int PAUSE = 12;

  /** Half-life of the count, in longest deferrals: one hour by default. */
  private static final int HALF_LIFE = 720;

  /** A count below this is not significant. */
  private static final double FORGOTTEN = 0.5;

  private final long longest;
  private final Map<Waiter, Entry> entries = new LinkedHashMap<>();
  private volatile int size;

  /**
   * @param since the time of its arrival
   * @param plainShare milliseconds that it adds to {@link #plainUntil}; NaN if unknown
   */
  private record Entry(long since, double plainShare) {}

  /** Time at which the plain choice would have served the last request, had none been deferred. */
  private long plainUntil;

  /**
   * Requests deferred in vain minus those deferred with success, as of {@link #vainAt}; at least 0.
   */
  private double vain;

  private long vainAt;
  private volatile boolean paused;
  private volatile long pausedUntil;

  /**
   * @param longest the longest deferral in nanoseconds
   */
  DeferralQueue(long longest) {
    this.longest = longest;
  }

  int size() {
    return size;
  }

  void add(Waiter waiter, double plainShare, long now) {
    entries.put(waiter, new Entry(now, plainShare));
    size = entries.size();
  }

  /**
   * Predicts the plain choice's time to first token for a request that is about to join, had none
   * been deferred. The policy's prediction does not know the deferred requests. The plain choice
   * would have sent them to workers, where the request would wait for them. There an engine
   * computes several short prompts in one step. So each adds only its part of full steps, not the
   * time that it takes alone.
   *
   * @param predicted the policy's prediction for the plain choice, in milliseconds
   * @param share time that the request adds for later ones, in milliseconds
   * @return milliseconds; NaN if the policy made no prediction
   */
  double plainMillis(double predicted, double share, long now) {
    double behind = size == 0 ? 0 : (plainUntil - now) / 1e6 + share;
    double plain = Math.max(predicted, behind);
    if (!Double.isNaN(plain)) {
      plainUntil = now + (long) (plain * 1e6);
    }
    return plain;
  }

  /** Takes back the share of a waiter that leaves: its worker would not compute it any more. */
  void leaves(Waiter waiter) {
    Entry entry = entries.get(waiter);
    if (entry != null && !Double.isNaN(entry.plainShare)) {
      plainUntil -= (long) (entry.plainShare * 1e6);
    }
  }

  /**
   * Removes a waiter.
   *
   * @return true if it was in the queue
   */
  boolean remove(Waiter waiter) {
    boolean was = entries.remove(waiter) != null;
    size = entries.size();
    return was;
  }

  /** Returns the {@code most} requests that have waited longest, or all. */
  List<Waiter> first(int most) {
    List<Waiter> first = new ArrayList<>(Math.min(most, size));
    Iterator<Waiter> each = entries.keySet().iterator();
    while (first.size() < most && each.hasNext()) {
      first.add(each.next());
    }
    return first;
  }

  /** Nanoseconds for which a waiter in the queue has been deferred. */
  long waited(Waiter waiter, long now) {
    return now - requireNonNull(entries.get(waiter), "entry").since;
  }

  /**
   * Counts a request deferred in vain.
   *
   * @param waited its wait in nanoseconds; less than the longest deferral counts as a fraction
   */
  void inVain(long waited, long now) {
    vain = Math.min(VAIN, vain(now) + Math.min(1, (double) waited / longest));
    vainAt = now;
    if (vain >= VAIN) {
      pausedUntil = now + PAUSE * longest;
      paused = true;
    }
  }

  /** Counts a request deferred with success. */
  void inTime(long now) {
    vain = Math.max(0, vain(now) - 1);
    vainAt = now;
  }

  /** The decayed count of requests deferred in vain, at {@code now}. */
  double vain(long now) {
    return vain == 0 ? 0 : vain * Math.pow(2, (double) (vainAt - now) / (HALF_LIFE * longest));
  }

  /** Returns true if the queue defers no requests at the moment. */
  boolean paused(long now) {
    return paused && now - pausedUntil < 0;
  }

  /** Returns true if removing the queue loses no information. */
  boolean forgettable(long now) {
    return size == 0 && !paused(now) && vain(now) < FORGOTTEN;
  }
}
