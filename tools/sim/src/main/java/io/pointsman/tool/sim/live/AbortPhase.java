package io.pointsman.tool.sim.live;

import java.util.Locale;

/** The phase of a request when its client left. */
public enum AbortPhase {
  /** Delayed by a failure before the scheduler. */
  ACCEPTED,
  /** Waiting for the batch. */
  QUEUED,
  /** The prompt is being computed. */
  PREFILLING,
  /** Tokens are being generated. */
  DECODING,
  /** All tokens are generated, but not all are written. */
  SENDING;

  /** The JSON key. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
