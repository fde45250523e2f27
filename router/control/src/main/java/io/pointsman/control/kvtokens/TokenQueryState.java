package io.pointsman.control.kvtokens;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Decides whether one worker can be queried. After a failure the worker rests, twice as long each
 * time. Queries take at most their share of the worker's time. The unused share of the last {@link
 * #SAVED} is kept, because a new router then learns the first prompts at once. A missing route is
 * not tried again for 5 minutes. Guarded by itself.
 */
final class TokenQueryState {
  static final long FIRST_REST = Duration.ofSeconds(1).toNanos();
  static final long LONGEST_REST = Duration.ofMinutes(1).toNanos();

  /** Limited, because an engine may be replaced by one with the route. */
  static final long NO_ROUTE = Duration.ofMinutes(5).toNanos();

  /** Query time that was not used in this period can be used later. */
  static final Duration SAVED = Duration.ofSeconds(100);

  private final Map<String, Long> missingUntil = new HashMap<>();
  private long rest = FIRST_REST;
  private long restsUntil;
  private boolean rests;

  private final double share;

  /** Query time in nanoseconds that is left; below 0 after a long query. */
  private double left;

  private long leftAt;
  private boolean asking;

  /**
   * @param share share of its time that queries may take, above 0; 1: no limit
   */
  TokenQueryState(double share, long now) {
    this.share = share;
    left = most();
    leftAt = now;
  }

  private double most() {
    return share * SAVED.toNanos();
  }

  synchronized boolean rests(long now) {
    rests = rests && now - restsUntil < 0;
    return rests;
  }

  /** True if the worker must not get further queries for the moment. */
  synchronized boolean spared(long now) {
    left = Math.min(most(), left + share * Math.max(0, now - leftAt));
    leftAt = now;
    return share < 1 && (left <= 0 || asking);
  }

  /** Begins a query; false if the worker must not be queried at this time. */
  synchronized boolean begin(long now) {
    if (spared(now)) {
      return false;
    }
    asking = true;
    return true;
  }

  /** Records the end of a query, whether it succeeded or not. */
  synchronized void end(long begun, long now) {
    asking = false;
    // The worker's time goes on during the query.
    left -= now - begun;
  }

  synchronized void failed(long now) {
    rests = true;
    restsUntil = now + rest;
    rest = Math.min(2 * rest, LONGEST_REST);
  }

  synchronized void answered() {
    rest = FIRST_REST;
  }

  /** True unless the route is known to be missing. */
  synchronized boolean has(String path, long now) {
    Long until = missingUntil.get(path);
    return until == null || now - until >= 0;
  }

  synchronized void lacks(String path, long now) {
    missingUntil.put(path, now + NO_ROUTE);
  }
}
