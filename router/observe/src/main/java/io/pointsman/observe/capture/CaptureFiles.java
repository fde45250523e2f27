package io.pointsman.observe.capture;

import static java.nio.file.StandardCopyOption.REPLACE_EXISTING;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;

import io.pointsman.config.settings.CaptureSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The capture file and its rotation. A file that would grow too large is renamed with the suffix
 * {@code .1}, an existing {@code .1} becomes {@code .2}, and the oldest file is deleted. A file
 * that exists at the start is renamed too. A partly written batch is truncated away, because files
 * contain only whole lines. Confined to one thread, except {@link #limit}.
 */
final class CaptureFiles implements AutoCloseable {
  private final Path path;
  private volatile long maxBytes;
  private volatile int count;
  private FileChannel out;
  private long length;

  /**
   * Opens the first file.
   *
   * @throws IOException if the file cannot be written, or is a directory
   */
  CaptureFiles(CaptureSettings settings) throws IOException {
    path = Path.of(settings.file());
    maxBytes = settings.maxBytes();
    count = settings.files();
    if (Files.isDirectory(path)) {
      throw new IOException("capture.file: " + path + " is a directory (expected: a file)");
    }
    try {
      if (Files.exists(path) && Files.size(path) > 0) {
        putAside();
      }
      out = FileChannel.open(path, CREATE, WRITE);
      out.truncate(0);
    } catch (IOException e) {
      throw new IOException("capture.file: cannot be written to: " + e, e);
    }
  }

  /** Uses other limits from the next line on. More files than {@code count} stay on the disk. */
  void limit(long maxBytes, int count) {
    this.maxBytes = maxBytes;
    this.count = count;
  }

  /**
   * Appends whole lines.
   *
   * @throws IOException if they are longer than {@code maxBytes} or cannot be written
   */
  void write(ByteBuffer lines) throws IOException {
    if (lines.remaining() > maxBytes) {
      throw new IOException("a line of " + lines.remaining() + " bytes does not fit into a file");
    }
    if (!out.isOpen() || length + lines.remaining() > maxBytes) {
      next();
    }
    long before = length;
    try {
      while (lines.hasRemaining()) {
        length += out.write(lines, length);
      }
    } catch (IOException e) {
      length = before;
      takeBack();
      throw e;
    }
  }

  /**
   * Truncates to the last whole line. Closes the file if that fails; the next write opens a new
   * one.
   */
  private void takeBack() {
    try {
      out.truncate(length);
    } catch (IOException _) {
      close();
    }
  }

  private void next() throws IOException {
    out.close();
    putAside();
    out = FileChannel.open(path, CREATE, WRITE);
    out.truncate(0);
    length = 0;
  }

  /** Does nothing if the file does not exist; a repeated attempt then loses no older file. */
  private void putAside() throws IOException {
    if (!Files.exists(path)) {
      return;
    }
    if (count == 1) {
      Files.deleteIfExists(path);
      return;
    }
    for (int number = count - 1; number > 1; number--) {
      Path younger = numbered(number - 1);
      if (Files.exists(younger)) {
        Files.move(younger, numbered(number), REPLACE_EXISTING);
      }
    }
    Files.move(path, numbered(1), REPLACE_EXISTING);
  }

  private Path numbered(int number) {
    return path.resolveSibling(path.getFileName() + "." + number);
  }

  @Override
  public void close() {
    try {
      out.close();
    } catch (IOException _) {
      // The caller has already counted lines that could not be written.
    }
  }
}
