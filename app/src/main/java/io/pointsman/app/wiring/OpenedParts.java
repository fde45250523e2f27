package io.pointsman.app.wiring;

import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends what has been opened one after the other. */
final class OpenedParts {
  private static final Logger log = LoggerFactory.getLogger(OpenedParts.class);

  private OpenedParts() {}

  /** Closes all of them, the newest first; one that cannot be closed keeps no other one open. */
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
