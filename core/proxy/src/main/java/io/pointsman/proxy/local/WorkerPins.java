package io.pointsman.proxy.local;

import org.jspecify.annotations.Nullable;

/** Choice of a worker by the client. Called on event loops; must not block. */
@FunctionalInterface
public interface WorkerPins {
  /** No client chooses. */
  WorkerPins NONE = _ -> null;

  /**
   * Returns the id of the only worker that may serve a request; null if any may. An id that no
   * worker has refuses the request.
   *
   * @param uri path with query string, unchanged
   */
  @Nullable String worker(String uri);
}
