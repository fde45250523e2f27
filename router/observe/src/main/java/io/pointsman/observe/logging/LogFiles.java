package io.pointsman.observe.logging;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeAndTimeBasedRollingPolicy;
import ch.qos.logback.core.util.FileSize;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Log files: {@code pointsman.log}, rotated daily and at 100 MiB. */
final class LogFiles {
  private static final int DAYS = 30;
  private static final long MOST_BYTES_OF_A_FILE = 100L << 20;
  private static final long MOST_BYTES = 1L << 30;

  private LogFiles() {}

  /**
   * An appender for files in a directory, which is created if missing.
   *
   * @throws UncheckedIOException if the directory is not writable
   */
  static Appender<ILoggingEvent> in(
      String directory, Encoder<ILoggingEvent> encoder, LoggerContext context) {
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
    files.setRollingPolicy(rolling);
    rolling.start();
    files.start();
    if (!files.isStarted()) {
      throw refused(files.getFile() + " (expected: a file that can be written to)");
    }
    return files;
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
