package io.pointsman.proxy.stored;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Table of the workers that have the stored responses of the Responses API, and of the clients that
 * created them. It is bounded. If it is full, an entry of the creator that adds one is removed if
 * more than half of the table is its own, else one of anybody; the least recently used first. So no
 * creator can remove all entries of others. Thread-safe. Only requests of that API use it.
 */
public final class ResponseOwners {
  /**
   * One response.
   *
   * @param worker id of the worker that has it; null if that worker has left the fleet
   * @param creator the client that created it, see {@link io.pointsman.proxy.identity.ClientOwner}
   */
  private record Kept(@Nullable String worker, String creator) {}

  private final int most;
  private final StoredSearches searches;

  /** Responses by their ids, the least recently used first. */
  private final Map<String, Kept> entries = recency();

  /** Ids of the responses of each creator, the least recently used first. */
  private final Map<String, Map<String, Boolean>> ofCreators = new HashMap<>();

  /**
   * @param most maximum number of responses
   * @param searches limit on searches for responses that are not in the table
   */
  public ResponseOwners(int most, StoredSearches searches) {
    this.most = most;
    this.searches = searches;
  }

  private static <T> Map<String, T> recency() {
    return new LinkedHashMap<>(16, 0.75f, true);
  }

  /** Limit on searches for responses that are not in this table. */
  public StoredSearches searches() {
    return searches;
  }

  /** Id of the worker that has a response; null if unknown. */
  public synchronized @Nullable String owner(String responseId) {
    Kept entry = used(responseId);
    return entry == null ? null : entry.worker;
  }

  /**
   * True if a client may use a response: its creator, or any client if nobody is known to have
   * created it and {@code unknown} permits that.
   *
   * @param client the client's name, see {@link io.pointsman.proxy.identity.ClientOwner}
   * @param unknown true if clients may use a response of an unknown creator
   */
  public synchronized boolean mayUse(String responseId, String client, boolean unknown) {
    Kept entry = used(responseId);
    return entry == null ? unknown : entry.creator.equals(client);
  }

  /**
   * Records that a worker created a response for a client or has it. A response of another client
   * stays as it is, because clients can choose ids.
   *
   * @param client the client's name, see {@link io.pointsman.proxy.identity.ClientOwner}
   */
  public void learn(String responseId, String workerId, String client) {
    synchronized (this) {
      Kept entry = used(responseId);
      if (entry == null) {
        add(responseId, new Kept(workerId, client));
      } else if (entry.creator.equals(client)) {
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
    Kept entry = entries.remove(responseId);
    if (entry != null) {
      ofCreators.computeIfPresent(
          entry.creator,
          (_, ids) -> {
            ids.remove(responseId);
            return ids.isEmpty() ? null : ids;
          });
    }
  }

  /** The entry of a response, which becomes the most recently used one; null if unknown. */
  private @Nullable Kept used(String responseId) {
    Kept entry = entries.get(responseId);
    Map<String, Boolean> ids = entry == null ? null : ofCreators.get(entry.creator);
    if (ids != null) {
      ids.put(responseId, Boolean.TRUE);
    }
    return entry;
  }

  private void add(String responseId, Kept entry) {
    Map<String, Boolean> own = ofCreators.computeIfAbsent(entry.creator, _ -> recency());
    entries.put(responseId, entry);
    own.put(responseId, Boolean.TRUE);
    if (entries.size() > most) {
      Map<String, ?> from = own.size() > Math.max(1, most / 2) ? own : entries;
      forget(from.keySet().iterator().next());
    }
  }
}
