package io.pointsman.sim.live;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** What a request has to do with the KV of other engines. Used on the event loop. */
public interface HandOver {
  /** The request as this engine runs it. */
  Generation request();

  /**
   * Does what must happen before the request is scheduled, then runs {@code start}, at once or
   * later; or answers the exchange with an error, and never runs it.
   */
  void prepare(GenerationRun run, Runnable start);

  /**
   * The run is complete.
   *
   * @return what its reply carries as {@code kv_transfer_params}; null: nothing
   */
  @Nullable JsonNode finished(GenerationRun run);

  /** The run was given up before it was complete. */
  void lost();
}
