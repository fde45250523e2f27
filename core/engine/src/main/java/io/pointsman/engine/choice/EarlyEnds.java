package io.pointsman.engine.choice;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Ids of leases that were settled before they were held, because their proxies gave up. Ids are
 * kept for {@link #KEPT}, at most {@link #MOST} of them, because a client can settle ids that never
 * appear. Any thread.
 */
final class EarlyEnds {
  /** Maximum number of ids; the oldest are removed first. */
  static final int MOST = 8_192;

  /** Retention of an id. It exceeds the decision time of a working router. */
  static final Duration KEPT = Duration.ofSeconds(30);

  /** Ids with their expiry times in ticker nanoseconds, earliest first; guarded by this. */
  private final LinkedHashMap<String, Long> until = new LinkedHashMap<>();

  /** True if there are any ids; lets readers avoid the lock. */
  private volatile boolean any;

  synchronized void add(String id, long now) {
    until.remove(id);
    until.put(id, now + KEPT.toNanos());
    forget(now);
  }

  /** Returns true if a lease with this id was settled within the last {@link #KEPT}. */
  boolean has(String id, long now) {
    return any && kept(id, now);
  }

  private synchronized boolean kept(String id, long now) {
    forget(now);
    return until.containsKey(id);
  }

  private void forget(long now) {
    Iterator<Map.Entry<String, Long>> eldest = until.entrySet().iterator();
    while (eldest.hasNext()) {
      if (now - eldest.next().getValue() < 0 && until.size() <= MOST) {
        break;
      }
      eldest.remove();
    }
    any = !until.isEmpty();
  }
}
