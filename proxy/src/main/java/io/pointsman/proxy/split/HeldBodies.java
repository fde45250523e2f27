package io.pointsman.proxy.split;

/**
 * Bounds how many bytes of clients' bodies are kept after their requests, to free what prefill
 * holds for them. One for each event loop, to which it belongs.
 */
final class HeldBodies {
  private final long most;
  private long kept;

  /**
   * @param most bytes; a single body may be larger
   */
  HeldBodies(long most) {
    this.most = most;
  }

  /** Notes a body of so many bytes; false if there is no room for it. */
  boolean enter(int bytes) {
    if (kept > 0 && kept + bytes > most) {
      return false;
    }
    kept += bytes;
    return true;
  }

  /** It is let go of. */
  void leave(int bytes) {
    kept -= bytes;
  }
}
