package io.pointsman.app.kvtokens;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Whether one worker can be asked: one that failed rests, twice as long each time; one that has
 * answered is left alone until the question has taken no more than its share of the time; a route
 * that it does not have is not tried again for long. Guarded by itself.
 */
final class Standing {
  static final long FIRST_REST = Duration.ofSeconds(1).toNanos();
  static final long LONGEST_REST = Duration.ofMinutes(1).toNanos();

  /** An engine may be replaced by one that has the route. */
  static final long NO_ROUTE = Duration.ofMinutes(5).toNanos();

  private final Map<String, Long> missingUntil = new HashMap<>();
  private long rest = FIRST_REST;
  private long restsUntil;
  private boolean rests;

  /** Time that it is left alone for, in parts of what the question took; 0 for no limit. */
  private final double sparing;

  private long sparedUntil;
  private boolean spared;
  private boolean asking;

  /**
   * @param share of its time that questions may take, above 0; 1 for no limit
   */
  Standing(double share) {
    sparing = 1 / share - 1;
  }

  synchronized boolean rests(long now) {
    rests = rests && now - restsUntil < 0;
    return rests;
  }

  /** Whether it has had enough questions for now. */
  synchronized boolean spared(long now) {
    spared = spared && now - sparedUntil < 0;
    return spared || asking;
  }

  /** Begins to ask; false if it is not to be asked now. */
  synchronized boolean begin(long now) {
    if (spared(now)) {
      return false;
    }
    asking = sparing > 0;
    return true;
  }

  /** The question that began then is over, whatever came of it. */
  synchronized void end(long begun, long now) {
    asking = false;
    spared = true;
    sparedUntil = now + (long) (sparing * (now - begun));
  }

  synchronized void failed(long now) {
    rests = true;
    restsUntil = now + rest;
    rest = Math.min(2 * rest, LONGEST_REST);
  }

  synchronized void answered() {
    rest = FIRST_REST;
  }

  /** Whether a route is worth trying; there are as many as are asked for. */
  synchronized boolean has(String path, long now) {
    Long until = missingUntil.get(path);
    return until == null || now - until >= 0;
  }

  synchronized void lacks(String path, long now) {
    missingUntil.put(path, now + NO_ROUTE);
  }
}
