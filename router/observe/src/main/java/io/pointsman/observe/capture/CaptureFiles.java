package io.pointsman.observe.capture;

import static java.nio.file.StandardCopyOption.REPLACE_EXISTING;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;

import io.pointsman.config.settings.CaptureSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The capture file and its rotation. A file that would grow too large is renamed with the suffix
 * {@code .1}, an existing {@code .1} becomes {@code .2}, and the oldest file is deleted. A file
 * that exists before the first line is renamed too; without a line it stays. A partly written batch
 * is truncated away, because files contain only whole lines. Confined to one thread, except {@link
 * #limit}.
 */
final class CaptureFiles implements AutoCloseable {
  private final Path path;
  private volatile long maxBytes;
  private volatile int count;

  /** Null before the first line. */
  private @Nullable FileChannel out;

  private long length;

  /**
   * Checks that the file can be written, and creates it if it does not exist. The contents of an
   * existing file stay, because the capture may not come into use.
   *
   * @throws IOException if the file cannot be written or renamed, or is a directory
   */
  CaptureFiles(CaptureSettings settings) throws IOException {
    path = Path.of(settings.file());
    maxBytes = settings.maxBytes();
    count = settings.files();
    if (Files.isDirectory(path)) {
      throw new IOException("capture.file: " + path + " is a directory (expected: a file)");
    }
    try {
      FileChannel.open(path, CREATE, WRITE).close();
      Path directory = path.toAbsolutePath().getParent();
      if (Files.size(path) > 0 && directory != null && !Files.isWritable(directory)) {
        throw new AccessDeniedException(directory.toString());
      }
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
    FileChannel to = out;
    if (to == null || !to.isOpen() || length + lines.remaining() > maxBytes) {
      to = next();
    }
    long before = length;
    try {
      while (lines.hasRemaining()) {
        length += to.write(lines, length);
      }
    } catch (IOException e) {
      length = before;
      takeBack(to);
      throw e;
    }
  }

  /**
   * Truncates to the last whole line. Closes the file if that fails; the next write opens a new
   * one.
   */
  private void takeBack(FileChannel from) {
    try {
      from.truncate(length);
    } catch (IOException _) {
      close();
    }
  }

  private FileChannel next() throws IOException {
    FileChannel before = out;
    if (before != null) {
      before.close();
    }
    putAside();
    FileChannel opened = FileChannel.open(path, CREATE, WRITE);
    out = opened;
    opened.truncate(0);
    length = 0;
    return opened;
  }

  /**
   * Does nothing if the file does not exist or is empty; a repeated attempt then loses no older
   * file.
   */
  private void putAside() throws IOException {
    if (!Files.exists(path) || Files.size(path) == 0) {
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
    FileChannel last = out;
    if (last == null) {
      return;
    }
    try {
      last.close();
    } catch (IOException _) {
      // The caller has already counted lines that could not be written.
    }
  }
}
