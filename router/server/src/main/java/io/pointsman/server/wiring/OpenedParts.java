package io.pointsman.server.wiring;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Closes resources in reverse order of opening. */
final class OpenedParts {
  private static final Logger log = LoggerFactory.getLogger(OpenedParts.class);

  private OpenedParts() {}

  /** A start that may fail. */
  @FunctionalInterface
  interface Start<T> {
    /**
     * @param opened receives the resources to close, newest first; also if the start fails
     * @throws IOException if a port or file cannot be opened
     * @throws IllegalArgumentException if the configuration cannot be used
     */
    T begin(Deque<AutoCloseable> opened) throws IOException;
  }

  /**
   * Starts something, and releases its resources if that fails.
   *
   * @throws StartException if it cannot start; the message contains the reason
   */
  static <T> T start(Start<T> start) {
    Deque<AutoCloseable> opened = new ArrayDeque<>();
    try {
      return start.begin(opened);
    } catch (IOException | IllegalArgumentException e) {
      closeAll(opened);
      throw new StartException(String.valueOf(e.getMessage()), e);
    } catch (RuntimeException e) {
      closeAll(opened);
      throw e;
    }
  }

  /** Closes all parts, newest first; a failure does not prevent the others. */
  static void closeAll(Deque<AutoCloseable> parts) {
    while (!parts.isEmpty()) {
      try {
        parts.pop().close();
      } catch (Exception e) {
        log.warn("not closed cleanly", e);
      }
    }
  }
}
