package io.pointsman.observe.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.LoggingEvent;
import ch.qos.logback.core.OutputStreamAppender;
import io.pointsman.config.settings.LogSettings;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * Configures the log: standard error and optional files. A separate thread writes each from a
 * limited queue, because a slow terminal, pipe or disk must not delay requests. A full queue drops
 * lines ({@link LogQueue}).
 */
public final class LogSetup implements AutoCloseable {
  private static final AtomicLong LOST = new AtomicLong();

  private final LoggerContext context;

  /** The encoder of standard error. */
  private final ChangingLines errors;

  private final LogQueue toErrors;

  /** Guarded by this, like the following field. */
  private LogSettings present;

  private Files files;

  /**
   * The files in a directory.
   *
   * @param directory empty: no files
   * @param appender null without files
   */
  private record Files(String directory, ChangingLines lines, @Nullable LogQueue appender) {
    /**
     * Opens them, without use.
     *
     * @throws UncheckedIOException if the directory is not writable
     */
    static Files open(LogSettings settings, LoggerContext context) {
      ChangingLines lines = encoder(settings.format(), context);
      String directory = settings.directory();
      return new Files(
          directory,
          lines,
          directory.isEmpty() ? null : queued(LogFiles.in(directory, lines, context), context));
    }
  }

  private LogSetup(
      LoggerContext context,
      LogSettings present,
      ChangingLines errors,
      LogQueue toErrors,
      Files files) {
    this.context = context;
    this.present = present;
    this.errors = errors;
    this.toErrors = toErrors;
    this.files = files;
  }

  /**
   * Starts logging, until closed; standard error stays open.
   *
   * @throws UncheckedIOException if the directory for files is not writable
   */
  public static LogSetup start(LogSettings settings) {
    return start(settings, new StandardError());
  }

  /** Other settings, before they are in use. */
  public final class Change {
    private final LogSettings settings;
    private final Files next;
    private final LogSettings settingsBefore;
    private final Files before;

    private Change(LogSettings settings, Files next) {
      this.settings = settings;
      this.next = next;
      settingsBefore = present;
      before = files;
    }

    /** Uses them for later lines. */
    public void apply() {
      use(settings, next);
    }

    /** Uses the earlier settings again. */
    public void undo() {
      use(settingsBefore, before);
    }

    /** Closes the files that they alone have. */
    public void drop() {
      release(next);
    }

    /** Closes the files that only the earlier settings have. */
    public void finish() {
      release(before);
    }
  }

  /**
   * Opens the files of other settings. Changes nothing that is in use.
   *
   * @throws IllegalArgumentException if the directory for files is not writable
   */
  public synchronized Change prepared(LogSettings next) {
    try {
      return new Change(
          next, next.directory().equals(files.directory) ? files : Files.open(next, context));
    } catch (UncheckedIOException e) {
      throw new IllegalArgumentException("log.directory: cannot be written to: " + e.getCause(), e);
    }
  }

  @SuppressWarnings("ReferenceEquality") // the present files may stay in use
  private synchronized void use(LogSettings settings, Files next) {
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    Files before = files;
    files = next;
    if (next != before && next.appender != null) {
      root.addAppender(next.appender);
    }
    if (next != before && before.appender != null) {
      root.detachAppender(before.appender);
    }
    present = settings;
    root.setLevel(level(settings.level()));
    toErrors.inOrder(() -> errors.use(settings.format()));
    if (next.appender != null) {
      next.appender.inOrder(() -> next.lines.use(settings.format()));
    }
  }

  @SuppressWarnings("ReferenceEquality") // the present files stay in use
  private synchronized void release(Files unused) {
    if (unused != files && unused.appender != null) {
      unused.appender.stop();
    }
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
    ChangingLines errors = encoder(settings.format(), context);
    OutputStreamAppender<ILoggingEvent> lines = new OutputStreamAppender<>();
    lines.setContext(context);
    lines.setEncoder(errors);
    Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    root.detachAndStopAllAppenders();
    root.setLevel(level(settings.level()));
    LogQueue toErrors = queued(new LogStream(lines, out), context);
    root.addAppender(toErrors);
    Files files = Files.open(settings, context);
    if (files.appender != null) {
      root.addAppender(files.appender);
    }
    context.getLogger("io.netty").setLevel(Level.WARN);
    context.getLogger("io.fabric8").setLevel(Level.ERROR);
    return new LogSetup(context, settings, errors, toErrors, files);
  }

  private static LogQueue queued(LogQueue.Output output, LoggerContext context) {
    LogQueue queue = new LogQueue(output, context, LOST);
    queue.start();
    return queue;
  }

  private static ChangingLines encoder(LogSettings.Format format, LoggerContext context) {
    ChangingLines encoder = new ChangingLines(format);
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

  /** Standard error. The JDK's class for it hides failures. */
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
