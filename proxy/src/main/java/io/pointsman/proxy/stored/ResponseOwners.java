package io.pointsman.proxy.stored;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which worker keeps which stored response of the Responses API. Bounded: the one asked for least
 * recently is forgotten first. Safe for use by several threads; touched only by requests of that
 * API.
 */
public final class ResponseOwners {
  private final Map<String, String> workers;

  /**
   * @param most responses remembered
   */
  public ResponseOwners(int most) {
    workers =
        new LinkedHashMap<>(16, 0.75f, true) {
          @Override
          protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
            return size() > most;
          }
        };
  }

  /** The id of the worker that keeps a response; null if it is not known. */
  public synchronized @Nullable String owner(String responseId) {
    return workers.get(responseId);
  }

  /** A worker made a response, or turned out to keep it. */
  public synchronized void learn(String responseId, String workerId) {
    workers.put(responseId, workerId);
  }

  /** The response is gone, or its worker is. */
  public synchronized void forget(String responseId) {
    workers.remove(responseId);
  }
}
