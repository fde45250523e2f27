package io.pointsman.sim.schedule;

import java.util.Locale;

/** Why an engine turns a request away before queueing it. */
public enum RejectReason {
  /** As many sequences run and wait as {@link EngineLimits#maxQueuedRequests} allows. */
  MAX_NUM_QUEUED_REQS,
  /** As many prompt tokens wait for prefill as {@link EngineLimits#maxQueuedTokens} allows. */
  MAX_NUM_QUEUED_TOKENS,
  /** Prompt and output exceed the model length or the KV memory and would never fit. */
  TOO_LONG;

  /** The metric label and JSON key. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
