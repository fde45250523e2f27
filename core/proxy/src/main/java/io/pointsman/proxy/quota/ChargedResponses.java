package io.pointsman.proxy.quota;

import java.util.LinkedHashMap;
import java.util.SequencedMap;

/**
 * Stored responses that were charged to a client. A response that is computed in the background is
 * charged when it is first read; further reads cost nothing. Bounded; the least recently used id is
 * removed first, and a later read of it is charged again. Thread-safe.
 */
public final class ChargedResponses {
  /** Maximum number of ids. */
  static final int MOST = 10_000;

  /** Maximum length of an id in characters; a longer one is charged each time. */
  private static final int LONGEST = 512;

  private final SequencedMap<String, Boolean> ids = new LinkedHashMap<>(16, 0.75f, true);

  /** Records that a response is charged. Returns true if it was not recorded. */
  public synchronized boolean first(String id) {
    if (id.length() > LONGEST) {
      return true;
    }
    boolean first = ids.put(id, true) == null;
    if (ids.size() > MOST) {
      ids.pollFirstEntry();
    }
    return first;
  }
}
