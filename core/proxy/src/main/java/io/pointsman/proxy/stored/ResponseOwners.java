package io.pointsman.proxy.stored;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Table of the workers that have the stored responses of the Responses API. It is bounded; the
 * least recently used entry is removed first. Thread-safe. Only requests of that API use it.
 */
public final class ResponseOwners {
  private final Map<String, String> workers;
  private final StoredSearches searches;

  /**
   * @param most maximum number of responses
   * @param searches limit on searches for responses that are not in the table
   */
  public ResponseOwners(int most, StoredSearches searches) {
    this.searches = searches;
    workers =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
            return size() > most;
          }
        };
  }

  /** Limit on searches for responses that are not in this table. */
  public StoredSearches searches() {
    return searches;
  }

  /** Id of the worker that has a response; null if unknown. */
  public synchronized @Nullable String owner(String responseId) {
    return workers.get(responseId);
  }

  /** Records that a worker created a response or has it. */
  public void learn(String responseId, String workerId) {
    synchronized (this) {
      workers.put(responseId, workerId);
    }
    searches.exists(responseId);
  }

  /** Removes a response, because it was deleted or its worker has left. */
  public synchronized void forget(String responseId) {
    workers.remove(responseId);
  }
}
