package io.pointsman.engine.fleet;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedSet;

/**
 * Responses that an engine computes after it has answered the request for them. The router has seen
 * their start and not their end. They do not count as load. At most {@link #MOST}; the one with the
 * oldest news is dropped first. Thread-safe.
 */
public final class BackgroundWork {
  /** Maximum number of responses of one worker; engines compute fewer at once. */
  static final int MOST = 1_000;

  /** The one with the oldest news first. */
  private final SequencedSet<String> ids = new LinkedHashSet<>();

  BackgroundWork() {}

  /** Records the start of a response. */
  public synchronized void began(String id) {
    ids.add(id);
    if (ids.size() > MOST) {
      ids.removeFirst();
    }
  }

  /** Records that a response is still in progress, if its start was recorded. */
  public synchronized void goesOn(String id) {
    if (ids.contains(id)) {
      ids.addLast(id);
    }
  }

  /** Records the end of a response, if its start was recorded. */
  public synchronized void ended(String id) {
    ids.remove(id);
  }

  /** Forgets all responses, because their engine has ended, or nobody can see their end. */
  public synchronized void lost() {
    ids.clear();
  }

  /** True if a response is in progress, as far as that is known. */
  public synchronized boolean has(String id) {
    return ids.contains(id);
  }

  /** The number of responses. */
  public synchronized int count() {
    return ids.size();
  }

  /** True if so many are known that their engine must be asked which of them have ended. */
  public synchronized boolean crowded() {
    return ids.size() >= MOST / 2;
  }

  /** The ids of the responses, the one with the oldest news first. */
  public synchronized List<String> ids() {
    return List.copyOf(ids);
  }
}
