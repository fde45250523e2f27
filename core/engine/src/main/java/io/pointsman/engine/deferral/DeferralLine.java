package io.pointsman.engine.deferral;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.deferral.Deferral.Guest;
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
final class DeferralLine {
  /** Surplus of requests deferred in vain that starts a pause. */
  private static final int VAIN = 16;

  /** Length of a pause, in longest deferrals: one minute by default. */
  private static final int PAUSE = 12;

  /** Half-life of the count, in longest deferrals: one hour by default. */
  private static final int HALF_LIFE = 720;

  /** A count below this is not significant. */
  private static final double FORGOTTEN = 0.5;

  private final long longest;
  private final Map<Guest, Long> since = new LinkedHashMap<>();
  private volatile int size;

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
  DeferralLine(long longest) {
    this.longest = longest;
  }

  int size() {
    return size;
  }

  void add(Guest guest, long now) {
    since.put(guest, now);
    size = since.size();
  }

  /**
   * Removes a guest.
   *
   * @return true if it was in the queue
   */
  boolean remove(Guest guest) {
    boolean was = since.remove(guest) != null;
    size = since.size();
    return was;
  }

  /** Returns the {@code most} requests that have waited longest, or all. */
  List<Guest> first(int most) {
    List<Guest> first = new ArrayList<>(Math.min(most, size));
    Iterator<Guest> each = since.keySet().iterator();
    while (first.size() < most && each.hasNext()) {
      first.add(each.next());
    }
    return first;
  }

  /** Nanoseconds for which a guest in the queue has been deferred. */
  long waited(Guest guest, long now) {
    return now - requireNonNull(since.get(guest), "since");
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
