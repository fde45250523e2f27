package io.pointsman.proxy.stored;

import io.pointsman.proxy.identity.ClientOwner;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Table of the workers that have the stored responses of the Responses API, and of the clients that
 * created them. It is bounded; the least recently used entry is removed first. Thread-safe. Only
 * requests of that API use it.
 */
public final class ResponseOwners {
  /**
   * One response.
   *
   * @param worker id of the worker that has it; null if that worker has left the fleet
   * @param creator the client that created it, see {@link ClientOwner}
   */
  private record Kept(@Nullable String worker, String creator) {}

  private final Map<String, Kept> entries;
  private final StoredSearches searches;

  /**
   * @param most maximum number of responses
   * @param searches limit on searches for responses that are not in the table
   */
  public ResponseOwners(int most, StoredSearches searches) {
    this.searches = searches;
    entries =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<String, Kept> eldest) {
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
    Kept entry = entries.get(responseId);
    return entry == null ? null : entry.worker;
  }

  /**
   * True if a client may use a response: its creator, or any client without a name if nobody is
   * known to have created it.
   *
   * @param client the client's name, see {@link ClientOwner}
   * @param unknown true if clients with a name may use a response of an unknown creator too
   */
  public synchronized boolean mayUse(String responseId, String client, boolean unknown) {
    Kept entry = entries.get(responseId);
    return entry == null
        ? unknown || client.equals(ClientOwner.EVERYBODY)
        : entry.creator.equals(client);
  }

  /**
   * Records that a worker created a response for a client or has it. A response of another client
   * stays as it is, because clients can choose ids.
   *
   * @param client the client's name, see {@link ClientOwner}
   */
  public void learn(String responseId, String workerId, String client) {
    synchronized (this) {
      Kept entry = entries.get(responseId);
      if (entry == null || entry.creator.equals(client)) {
        entries.put(responseId, new Kept(workerId, client));
      }
    }
    searches.exists(responseId);
  }

  /** Records that the worker with a response has left. The response stays the creator's. */
  public synchronized void left(String responseId) {
    entries.computeIfPresent(responseId, (_, entry) -> new Kept(null, entry.creator));
  }

  /** Removes a response, because it was deleted. */
  public synchronized void forget(String responseId) {
    entries.remove(responseId);
  }
}
