package io.pointsman.server.cli;

import io.pointsman.control.health.Rounds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;

/**
 * Watches the contents of a small file. It reads the file every 2 s, because a ConfigMap is
 * replaced by a link, which notifications of the system miss.
 */
final class FileWatch {
  private static final Duration LOOK = Duration.ofSeconds(2);
  private static final byte[] UNREADABLE = {};

  private final Path file;
  private byte[] seen;

  /** Reads the file for the first time. */
  FileWatch(Path file) {
    this.file = file;
    seen = contents();
  }

  /**
   * Starts the watch.
   *
   * @param changed called once after each change, from the thread of the watch
   */
  Rounds start(Runnable changed) {
    return Rounds.start("dynamic-config", LOOK, () -> look(changed));
  }

  /** Reads the file, and calls the action if its contents differ from those last seen. */
  void look(Runnable changed) {
    byte[] now = contents();
    if (!Arrays.equals(now, seen)) {
      seen = now;
      changed.run();
    }
  }

  private byte[] contents() {
    try {
      return Files.readAllBytes(file);
    } catch (IOException e) {
      return UNREADABLE;
    }
  }
}
