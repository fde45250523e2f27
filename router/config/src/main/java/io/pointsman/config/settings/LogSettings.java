package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

/**
 * Settings of the log.
 *
 * @param level least severe level that is written
 * @param format format of a line
 * @param directory directory for log files in addition to standard error; empty: no files
 * @param requests true to write a line for each choice of a worker
 */
public record LogSettings(Level level, Format format, String directory, boolean requests) {
  public static final LogSettings DEFAULTS = new LogSettings(Level.INFO, Format.TEXT, "");

  /** Settings without lines for requests. */
  public LogSettings(Level level, Format format, String directory) {
    this(level, format, directory, false);
  }

  public LogSettings {
    requireNonNull(level, "level");
    requireNonNull(format, "format");
    requireNonNull(directory, "directory");
  }

  /** Severity in ascending order; {@code OFF} writes nothing. */
  public enum Level {
    DEBUG,
    INFO,
    WARN,
    ERROR,
    OFF
  }

  /** Format of a line. */
  public enum Format {
    /** Text for people. */
    TEXT,
    /** One JSON object per line. */
    JSON
  }
}
