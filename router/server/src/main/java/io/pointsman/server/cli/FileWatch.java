package io.pointsman.server.cli;

import io.pointsman.config.WatchedFile;
import io.pointsman.control.health.Rounds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;

/**
 * Watches the contents of a small file. It reads the file every 2 s, because a ConfigMap is
 * replaced by a link, which notifications of the system miss. A change counts when two looks have
 * read the same, because a file may be written in place.
 */
final class FileWatch {
  private static final Duration LOOK = Duration.ofSeconds(2);
  private static final byte[] UNREADABLE = {};

  private final Path file;
  private byte[] seen;

  /** New contents of the last look, which may be a part of a file that is being written. */
  private byte[] candidate;

  /** Reads the file for the first time. */
  FileWatch(Path file) {
    this.file = file;
    seen = contents();
    candidate = seen;
  }

  /**
   * Starts the watch.
   *
   * @param changed called once after each change, from the thread of the watch
   */
  Rounds start(Runnable changed) {
    return Rounds.start("dynamic-config", LOOK, () -> look(changed));
  }

  /** Reads the file, and calls the action if its contents are new and those of the last look. */
  void look(Runnable changed) {
    byte[] now = contents();
    boolean complete = Arrays.equals(now, candidate);
    candidate = now;
    if (complete && !Arrays.equals(now, seen)) {
      seen = now;
      changed.run();
    }
  }

  /** True if the file has been read and contains nothing but white space and comments of YAML. */
  static boolean hasNoKey(Path file) {
    try {
      return Files.readString(file)
          .lines()
          .map(String::strip)
          .allMatch(line -> line.isEmpty() || line.startsWith("#"));
    } catch (IOException e) {
      return false; // its reader reports the reason
    }
  }

  private byte[] contents() {
    try {
      return WatchedFile.contents(file);
    } catch (IOException e) {
      return UNREADABLE;
    }
  }
}
