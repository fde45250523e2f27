package io.pointsman.request.event;

/** What the first events of a stream tell of its prompt, in the order in which they come. */
public enum EventKind {
  /** The engine has taken the request, and may not have begun with it. */
  TAKEN,
  /** The prompt is computed: what engines send with the first token, before its text. */
  COMPUTED,
  /** Output, or the end of a stream. */
  OUTPUT,
  /** An error that is the client's own. */
  REFUSED,
  /** An error: the engine has too much to do just now. */
  BUSY,
  /** An error of the engine's. */
  FAILED;

  /** Whether nothing that follows says more of the prompt. */
  public boolean decides() {
    return compareTo(COMPUTED) > 0;
  }

  /** Whether it is an error of which another engine may know nothing. */
  public boolean failed() {
    return this == BUSY || this == FAILED;
  }

  /** Whether the first token has come. */
  public boolean computed() {
    return this == COMPUTED || this == OUTPUT;
  }
}
