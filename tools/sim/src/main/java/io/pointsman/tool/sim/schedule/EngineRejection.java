package io.pointsman.tool.sim.schedule;

import java.util.Locale;

/** The reason why an engine rejects a request before queueing it. */
public enum EngineRejection {
  /**
   * The number of running and waiting sequences has reached {@link EngineLimits#maxQueuedRequests}.
   */
  MAX_NUM_QUEUED_REQS,
  /**
   * The number of prompt tokens waiting for prefill has reached {@link
   * EngineLimits#maxQueuedTokens}.
   */
  MAX_NUM_QUEUED_TOKENS,
  /** Prompt and output exceed the model length or the KV memory and can never fit. */
  TOO_LONG;

  /** The metric label and JSON key. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
