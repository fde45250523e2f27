package io.pointsman.testkit.engine;

import java.io.IOException;

/** What an engine does with one request. Called on a virtual thread; may block. */
@FunctionalInterface
public interface EngineScript {
  /**
   * Answers {@code request}. The connection is kept afterwards unless the script closed it; an
   * exception closes it.
   */
  void answer(EngineRequest request, EngineConnection connection)
      throws IOException, InterruptedException;
}
