package io.pointsman.proxy.body;

import io.pointsman.request.RequestFacts;
import io.pointsman.request.splice.Splice;
import org.jspecify.annotations.Nullable;

/**
 * The router's own changes to clients' bodies and targets, made before a worker is chosen. The
 * changed body is read again. Called on event loops; must not block.
 */
@FunctionalInterface
public interface RequestEdits {
  /** Changes nothing. */
  RequestEdits NONE = (_, _, _, _) -> null;

  /** True if the name of the model may change, so it must be found in a large body too. */
  default boolean needsModel() {
    return false;
  }

  /**
   * Returns the changed target of a request that has its model in the query; null if nothing
   * changes.
   *
   * @param facts facts of the unchanged request
   * @param target path and query string
   */
  default @Nullable String editTarget(RequestFacts facts, String target) {
    return null;
  }

  /**
   * Returns the changed body; null if nothing changes.
   *
   * @param facts facts of the unchanged body
   * @param body array that starts with the received bytes of the body; neither changed nor kept
   * @param length number of received bytes
   * @param whole true if these bytes are the complete body
   */
  @Nullable Splice edit(RequestFacts facts, byte[] body, int length, boolean whole);
}
