package io.pointsman.app.haproxy;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Causes that were told already, a bounded number of them. Safe for use by several threads. */
final class Causes {
  /** Beyond, nothing is new any more. */
  static final int MOST = 64;

  private final Set<String> told = ConcurrentHashMap.newKeySet();

  /** Whether a cause is to be told: the first time, and while there is room. */
  boolean isNew(String cause) {
    return told.size() < MOST && told.add(cause);
  }
}
