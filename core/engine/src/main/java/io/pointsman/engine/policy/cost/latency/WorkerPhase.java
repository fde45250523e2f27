package io.pointsman.engine.policy.cost.latency;

/** The activity of a worker when a request is placed there. */
public enum WorkerPhase {
  /** No activity: a step starts at once. */
  FREE,
  /** Decoding: the next step starts after the current decode step. */
  DECODING,
  /** Prefill: the request waits for the next step. */
  PREFILLING
}
