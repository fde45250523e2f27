package io.pointsman.sim.live;

import java.util.Locale;

/** How far a request had come when its client left. */
public enum AbortPhase {
  /** Not yet handed to the scheduler: held back by a failure. */
  ACCEPTED,
  /** Waiting for a place in the batch. */
  QUEUED,
  /** Prompt being computed. */
  PREFILLING,
  /** Tokens being produced. */
  DECODING,
  /** All tokens produced, not all of them written. */
  SENDING;

  /** The JSON key. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
