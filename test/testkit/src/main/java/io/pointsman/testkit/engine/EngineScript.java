package io.pointsman.testkit.engine;

import java.io.IOException;

/** An engine's handling of one request. Called on a virtual thread; may block. */
@FunctionalInterface
public interface EngineScript {
  /** Answers {@code request}. The connection stays open unless the script closes it or throws. */
  void answer(EngineRequest request, EngineConnection connection)
      throws IOException, InterruptedException;
}
