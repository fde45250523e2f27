package io.pointsman.control.health;

import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.time.Duration;

/** Sends a request without a body to an engine. */
@FunctionalInterface
public interface EngineCall {
  /**
   * The answer of the engine.
   *
   * @param timeout maximum duration of the call
   * @throws IOException if there is no answer in time
   */
  EngineClient.Answer send(WorkerSpec worker, String method, String url, Duration timeout)
      throws IOException;
}
