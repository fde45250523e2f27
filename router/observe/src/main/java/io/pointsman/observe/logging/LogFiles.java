package io.pointsman.observe.logging;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.recovery.RecoveryListener;
import ch.qos.logback.core.recovery.ResilientFileOutputStream;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeAndTimeBasedRollingPolicy;
import ch.qos.logback.core.util.FileSize;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Log files: {@code pointsman.log}, rotated daily and at 100 MiB. If another program moves or
 * deletes the file, the next lines are in a new one. All methods but {@link #in} belong to the
 * thread that writes.
 */
final class LogFiles implements LogQueue.Output, RecoveryListener {
  private static final int DAYS = 30;
  private static final long MOST_BYTES_OF_A_FILE = 100L << 20;
  private static final long MOST_BYTES = 1L << 30;

  private final RollingFileAppender<ILoggingEvent> files;

  /** Identity of the open file, by which a moved file is noticed; null if there is none. */
  private @Nullable Object opened;

  /** True if a write to the open file has failed, or no file can be opened. */
  private boolean failing;

  private LogFiles(RollingFileAppender<ILoggingEvent> files) {
    this.files = files;
    watch();
  }

  /**
   * Files in a directory, which is created if missing. Its owner flushes them.
   *
   * @throws UncheckedIOException if the directory is not writable
   */
  static LogFiles in(String directory, Encoder<ILoggingEvent> encoder, LoggerContext context) {
    if (directory.contains("%")) {
      throw refused(directory + " (expected: a directory without %, which has a meaning in names)");
    }
    makeWritable(Path.of(directory));
    String prefix = Path.of(directory, "pointsman").toString();
    RollingFileAppender<ILoggingEvent> files = new RollingFileAppender<>();
    SizeAndTimeBasedRollingPolicy<ILoggingEvent> rolling = new SizeAndTimeBasedRollingPolicy<>();
    rolling.setContext(context);
    rolling.setParent(files);
    rolling.setFileNamePattern(prefix + ".%d{yyyy-MM-dd}.%i.log");
    rolling.setMaxFileSize(new FileSize(MOST_BYTES_OF_A_FILE));
    rolling.setMaxHistory(DAYS);
    rolling.setTotalSizeCap(new FileSize(MOST_BYTES));
    files.setContext(context);
    files.setFile(prefix + ".log");
    files.setEncoder(encoder);
    files.setImmediateFlush(false);
    files.setBufferSize(new FileSize(LogQueue.BUFFER));
    files.setRollingPolicy(rolling);
    rolling.start();
    files.start();
    if (!files.isStarted()) {
      throw refused(files.getFile() + " (expected: a file that can be written to)");
    }
    return new LogFiles(files);
  }

  @Override
  public OutputStreamAppender<ILoggingEvent> lines() {
    return files;
  }

  /** Opens the file again after a failure; Logback would wait for up to 5 minutes. */
  @Override
  public void prepare() {
    if (!failing && Objects.equals(opened, identity())) {
      return;
    }
    try {
      files.openFile(files.getFile());
      watch();
    } catch (IOException e) {
      failing = true;
    }
  }

  /** Begins to watch the open file. */
  private void watch() {
    failing = false;
    opened = identity();
    if (files.getOutputStream() instanceof ResilientFileOutputStream file) {
      file.addRecoveryListener(this);
    }
  }

  /** Identity of the file by its name; null if it is missing, or the file system has none. */
  private @Nullable Object identity() {
    try {
      return Files.readAttributes(Path.of(files.getFile()), BasicFileAttributes.class).fileKey();
    } catch (IOException e) {
      return null;
    }
  }

  @Override
  public void newFailure(IOException e) {
    failing = true;
  }

  @Override
  public void recoveryOccured() {
    // Lines of this batch were lost before.
  }

  @Override
  public int lost(int written) {
    return failing ? written : 0;
  }

  private static UncheckedIOException refused(String problem) {
    return new UncheckedIOException(new IOException(problem));
  }

  private static void makeWritable(Path directory) {
    try {
      Files.createDirectories(directory);
      if (!Files.isWritable(directory)) {
        throw new AccessDeniedException(directory.toString());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
