package io.pointsman.observe.logging;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.encoder.Encoder;
import io.pointsman.config.settings.LogSettings;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.slf4j.LoggerFactory;

/**
 * Configures the log: standard error and optional files. A separate thread writes each from a
 * limited queue, because a slow terminal, pipe or disk must not delay requests. A full queue drops
 * lines.
 */
public final class LogSetup implements AutoCloseable {
  /** Maximum number of queued lines. */
  private static final int QUEUE = 4096;

  private static final int MOST_MILLIS_AT_END = 500;

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

  /** Starts logging to {@code out}; closing the log closes it. */
  static LogSetup start(LogSettings settings, OutputStream out) {
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    OutputStreamAppender<ILoggingEvent> writer = new OutputStreamAppender<>();
    writer.setContext(context);
    writer.setEncoder(encoder(settings.format(), context));
    writer.setOutputStream(out);
    writer.start();
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.detachAndStopAllAppenders();
    root.setLevel(level(settings.level()));
    root.addAppender(queued(writer, context));
    if (!settings.directory().isEmpty()) {
      Encoder<ILoggingEvent> encoder = encoder(settings.format(), context);
      root.addAppender(queued(LogFiles.in(settings.directory(), encoder, context), context));
    }
    context.getLogger("io.netty").setLevel(Level.WARN);
    context.getLogger("io.fabric8").setLevel(Level.ERROR);
    return new LogSetup(context);
  }

  private static AsyncAppender queued(Appender<ILoggingEvent> writer, LoggerContext context) {
    AsyncAppender queue = new AsyncAppender();
    queue.setContext(context);
    queue.setQueueSize(QUEUE);
    queue.setDiscardingThreshold(0);
    queue.setNeverBlock(true);
    queue.setMaxFlushTime(MOST_MILLIS_AT_END);
    queue.addAppender(writer);
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

  private static final class StandardError extends OutputStream {
    @Override
    public void write(int b) {
      System.err.write(b);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
      System.err.write(bytes, offset, length);
    }

    @Override
    public void flush() {
      System.err.flush();
    }
  }
}
