package io.pointsman.server.wiring;

import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Closes resources in reverse order of opening. */
final class OpenedParts {
  private static final Logger log = LoggerFactory.getLogger(OpenedParts.class);

  private OpenedParts() {}

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
