package io.pointsman.config;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads small files that are read again and again. A pipe would block the reader. */
public final class WatchedFile {
  /** Maximum size of a file in bytes. */
  public static final int MOST_BYTES = 16 << 20;

  private WatchedFile() {}

  /** True for a pipe, a device or a directory. */
  static boolean irregular(Path file) {
    return Files.exists(file) && !Files.isRegularFile(file);
  }

  /**
   * The contents of a file.
   *
   * @throws IOException if the file is no regular file, cannot be read, or is larger than {@link
   *     #MOST_BYTES}
   */
  public static byte[] contents(Path file) throws IOException {
    if (irregular(file)) {
      throw new IOException("not a regular file");
    }
    return bounded(file);
  }

  /**
   * The contents of a file of any kind.
   *
   * @throws IOException if the file cannot be read, or is larger than {@link #MOST_BYTES}
   */
  static byte[] bounded(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      byte[] bytes = in.readNBytes(MOST_BYTES + 1);
      if (bytes.length > MOST_BYTES) {
        throw new TooLarge();
      }
      return bytes;
    }
  }

  /** A file is larger than {@link #MOST_BYTES}. */
  static final class TooLarge extends IOException {
    private static final long serialVersionUID = 1L;

    TooLarge() {
      super("larger than " + MOST_BYTES + " bytes");
    }
  }
}
