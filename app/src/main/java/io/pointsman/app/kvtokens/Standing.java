package io.pointsman.app.kvtokens;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Whether one worker can be asked: one that failed rests, twice as long each time; a route that it
 * does not have is not tried again for long. Guarded by itself.
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

  synchronized boolean rests(long now) {
    rests = rests && now - restsUntil < 0;
    return rests;
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
