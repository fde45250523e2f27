package io.pointsman.engine.holdback;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.holdback.HoldBack.Guest;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Requests that are held back and compete for the same workers, in the order of their arrival, and
 * what came of those before them: also while it is empty, so that those that come one by one count
 * as well.
 *
 * <p>Changed under the lock of {@link HoldBack}; how many there are and whether it pauses may be
 * read by any thread.
 */
final class Line {
  /** So many more in vain than not are too many. */
  private static final int VAIN = 16;

  /** For so many times the longest wait nobody is held back then: a minute. */
  private static final int PAUSE = 12;

  /** After so many times the longest wait half of the count is left: an hour. */
  private static final int HALF_LIFE = 720;

  /** What is left of a count tells nothing below this. */
  private static final double FORGOTTEN = 0.5;

  private final long longest;
  private final Map<Guest, Long> since = new LinkedHashMap<>();
  private volatile int size;

  /** By how many more were held back in vain than not, as of {@link #vainAt}. */
  private double vain;

  private long vainAt;
  private volatile boolean paused;
  private volatile long pausedUntil;

  /**
   * @param longest nanoseconds for which a request is held back at most
   */
  Line(long longest) {
    this.longest = longest;
  }

  int size() {
    return size;
  }

  void add(Guest guest, long now) {
    since.put(guest, now);
    size = since.size();
  }

  /** Whether it was there. */
  boolean remove(Guest guest) {
    boolean was = since.remove(guest) != null;
    size = since.size();
    return was;
  }

  /** The {@code most} that have waited longest, or all. */
  List<Guest> first(int most) {
    List<Guest> first = new ArrayList<>(Math.min(most, size));
    Iterator<Guest> each = since.keySet().iterator();
    while (first.size() < most && each.hasNext()) {
      first.add(each.next());
    }
    return first;
  }

  /** Nanoseconds for which one that is there has been held back. */
  long waited(Guest guest, long now) {
    return now - requireNonNull(since.get(guest), "since");
  }

  /**
   * One more was held back in vain.
   *
   * @param waited for so many nanoseconds: less than the longest time counts as a part of one
   */
  void inVain(long waited, long now) {
    vain = Math.min(VAIN, vain(now) + Math.min(1, (double) waited / longest));
    vainAt = now;
    if (vain >= VAIN) {
      pausedUntil = now + PAUSE * longest;
      paused = true;
    }
  }

  /** One more was not. */
  void inTime(long now) {
    vain = Math.max(0, vain(now) - 1);
    vainAt = now;
  }

  /** By how many more were held back in vain than not, of late. */
  double vain(long now) {
    return vain == 0 ? 0 : vain * Math.pow(2, (double) (vainAt - now) / (HALF_LIFE * longest));
  }

  /** Whether nobody is held back for now. */
  boolean paused(long now) {
    return paused && now - pausedUntil < 0;
  }

  /** Whether nothing is lost with it. */
  boolean forgettable(long now) {
    return size == 0 && !paused(now) && vain(now) < FORGOTTEN;
  }
}
