package io.pointsman.proxy.body;

import io.pointsman.request.RequestFacts;
import io.pointsman.request.splice.Splice;
import org.jspecify.annotations.Nullable;

/**
 * The router's own changes to clients' bodies, made before a worker is chosen. The changed body is
 * read again. Called on event loops; must not block.
 */
@FunctionalInterface
public interface RequestEdits {
  /** Changes nothing. */
  RequestEdits NONE = (_, _, _, _) -> null;

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
