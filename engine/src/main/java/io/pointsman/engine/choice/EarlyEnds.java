package io.pointsman.engine.choice;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Ids of leases that were settled before they were held: their planes have given the questions up.
 * Kept for a while, and no more than so many of them, since anybody can settle what never comes.
 * Any thread.
 */
final class EarlyEnds {
  /** Those that came first give way to later ones. */
  static final int MOST = 8_192;

  /** Longer than a router takes to decide that has not stopped altogether. */
  static final Duration KEPT = Duration.ofSeconds(30);

  /** By id the time from which it is forgotten, earliest first; guarded by this. */
  private final LinkedHashMap<String, Long> until = new LinkedHashMap<>();

  /** Whether there is one to look for, told without the lock. */
  private volatile boolean any;

  synchronized void add(String id, long now) {
    until.remove(id);
    until.put(id, now + KEPT.toNanos());
    forget(now);
  }

  /** Whether a lease of this id was settled a short while ago. */
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
