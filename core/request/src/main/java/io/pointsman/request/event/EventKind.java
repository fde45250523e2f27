package io.pointsman.request.event;

/**
 * Kind of an event of a streamed answer, by the progress of the request that it shows. The first
 * three are in order of arrival.
 */
public enum EventKind {
  /** The engine has accepted the request. It may not have started to compute. */
  TAKEN,
  /** The prompt is computed. Engines send this event with the first token, before its text. */
  COMPUTED,
  /** Output, or the end of a stream. */
  OUTPUT,
  /** Error that the client caused. */
  REFUSED,
  /** Error because the engine is overloaded. */
  BUSY,
  /** Error that the engine caused. */
  FAILED;

  /** True if later events add nothing about the state of the prompt. */
  public boolean decides() {
    return compareTo(COMPUTED) > 0;
  }

  /** True for an error that another engine may not have. */
  public boolean failed() {
    return this == BUSY || this == FAILED;
  }

  /** True if the engine has computed the first token. */
  public boolean computed() {
    return this == COMPUTED || this == OUTPUT;
  }
}
