package io.pointsman.plane.haproxy;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Causes that were already logged, a limited number of them. Thread-safe. */
final class Causes {
  /** Maximum number of causes; further ones are not logged. */
  static final int MOST = 64;

  private final Set<String> logged = ConcurrentHashMap.newKeySet();

  /** True if the cause must be logged: at its first occurrence, while the limit is not reached. */
  boolean isNew(String cause) {
    return logged.size() < MOST && logged.add(cause);
  }
}
