package io.pointsman.tool.sim.live;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** The part of a request in KV transfers. Used on the event loop. */
public interface HandOver {
  /** The request as this engine runs it. */
  Generation request();

  /**
   * Performs the step before scheduling, then runs {@code start}, at once or later. On failure it
   * responds with an error and never runs {@code start}.
   */
  void prepare(GenerationRun run, Runnable start);

  /**
   * Is called when the run is complete.
   *
   * @return the {@code kv_transfer_params} of the response; null: none
   */
  @Nullable JsonNode finished(GenerationRun run);

  /** Returns true if the last chunk of a stream has these parameters too. */
  default boolean describesInStreams() {
    return false;
  }

  /** Is called if the run is aborted. */
  void lost();
}
