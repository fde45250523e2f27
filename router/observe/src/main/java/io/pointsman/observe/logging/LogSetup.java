package io.pointsman.observe.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.encoder.Encoder;
import io.pointsman.config.settings.LogSettings;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.LoggerFactory;

/**
 * Configures the log: standard error and optional files. A separate thread writes each from a
 * limited queue, because a slow terminal, pipe or disk must not delay requests. A full queue drops
 * lines ({@link LogQueue}).
 */
public final class LogSetup implements AutoCloseable {
  private static final AtomicLong LOST = new AtomicLong();

  private final LoggerContext context;

  private LogSetup(LoggerContext context) {
    this.context = context;
  }

  /**
   * Starts logging, until closed; standard error itself stays open.
   *
   * @throws UncheckedIOException if the directory for files is not writable
   */
  public static LogSetup start(LogSettings settings) {
    return start(settings, new StandardError());
  }

  /** Changes the minimum level. */
  public static void setLevel(LogSettings.Level least) {
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME).setLevel(level(least));
  }

  /**
   * A line for a message that is printed at every level of the log, in the form of the log's
   * format. As text it is the message alone.
   */
  public static String line(LogSettings.Format format, String message) {
    return switch (format) {
      case TEXT -> message + System.lineSeparator();
      case JSON -> {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        Logger logger = context.getLogger(LogSetup.class);
        StringBuilder line = new StringBuilder();
        new JsonLines()
            .write(
                new LoggingEvent(LogSetup.class.getName(), logger, Level.INFO, message, null, null),
                line);
        yield line.toString();
      }
    };
  }

  /**
   * Lines since the start of the process that are not in an output: the queue was full, or the
   * output could not be written.
   */
  public static long lostLines() {
    return LOST.get();
  }

  /** Starts logging to {@code out}; closing the log closes it. */
  static LogSetup start(LogSettings settings, OutputStream out) {
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    OutputStreamAppender<ILoggingEvent> lines = new OutputStreamAppender<>();
    lines.setContext(context);
    lines.setEncoder(encoder(settings.format(), context));
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.detachAndStopAllAppenders();
    root.setLevel(level(settings.level()));
    root.addAppender(queued(new LogStream(lines, out), context));
    if (!settings.directory().isEmpty()) {
      Encoder<ILoggingEvent> encoder = encoder(settings.format(), context);
      root.addAppender(queued(LogFiles.in(settings.directory(), encoder, context), context));
    }
    context.getLogger("io.netty").setLevel(Level.WARN);
    context.getLogger("io.fabric8").setLevel(Level.ERROR);
    return new LogSetup(context);
  }

  private static LogQueue queued(LogQueue.Output output, LoggerContext context) {
    LogQueue queue = new LogQueue(output, context, LOST);
    queue.start();
    return queue;
  }

  private static Encoder<ILoggingEvent> encoder(LogSettings.Format format, LoggerContext context) {
    Encoder<ILoggingEvent> encoder =
        switch (format) {
          case TEXT -> new TextLines();
          case JSON -> new JsonLines();
        };
    encoder.setContext(context);
    encoder.start();
    return encoder;
  }

  private static Level level(LogSettings.Level level) {
    return switch (level) {
      case DEBUG -> Level.DEBUG;
      case INFO -> Level.INFO;
      case WARN -> Level.WARN;
      case ERROR -> Level.ERROR;
      case OFF -> Level.OFF;
    };
  }

  /** Writes the queued lines, for at most 500 ms, and stops logging. */
  @Override
  public void close() {
    context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME).detachAndStopAllAppenders();
  }

  /** Standard error, whose class in the JDK hides failures. */
  private static final class StandardError extends OutputStream {
    private final OutputStream out = new FileOutputStream(FileDescriptor.err);

    @Override
    public void write(int b) throws IOException {
      out.write(b);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      out.write(bytes, offset, length);
    }
  }
}
