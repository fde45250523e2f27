package io.pointsman.batch;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The lines of a file, one after the other. Blank lines count, but are not returned. */
final class Lines implements AutoCloseable {
  /** Maximum length of a line in bytes. */
  static final int LONGEST = 8 << 20;

  private static final String BYTE_ORDER_MARK = "\ufeff";

  private final InputStream in;
  private int number;
  private boolean tooLong;

  Lines(Path file) throws IOException {
    in = new BufferedInputStream(Files.newInputStream(file), 64 << 10);
  }

  /** The next line; null at the end. It is empty if it is {@link #tooLong}. */
  @Nullable String next() throws IOException {
    String line = "";
    do {
      String read = read();
      if (read == null) {
        return null;
      }
      number++;
      line = read;
    } while (line.isBlank() && !tooLong);
    return line;
  }

  private @Nullable String read() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream(1024);
    tooLong = false;
    int next = in.read();
    if (next < 0) {
      return null;
    }
    for (; next >= 0 && next != '\n'; next = in.read()) {
      if (line.size() < LONGEST) {
        line.write(next);
      } else {
        tooLong = true;
      }
    }
    if (tooLong) {
      return "";
    }
    String text = line.toString(StandardCharsets.UTF_8);
    // Programs on Windows put a byte order mark before the first line.
    return number == 0 && text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text;
  }

  /** Number of the last line, from 1. */
  int number() {
    return number;
  }

  /** True if the last line is longer than the limit. */
  boolean tooLong() {
    return tooLong;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
