package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import io.soabase.recordbuilder.core.RecordBuilder;

/**
 * Settings of the log.
 *
 * @param level least severe level that is written
 * @param format format of a line
 * @param directory directory for log files in addition to standard error; empty: no files
 * @param requests true to write a line for each choice of a worker
 * @param access requests that get a line at their end
 * @param accessSample share of the requests without an error that get a line
 * @param audit true to write a line for each change by an administrator and each refused key
 */
@RecordBuilder
public record LogSettings(
    Level level,
    Format format,
    String directory,
    boolean requests,
    Access access,
    double accessSample,
    boolean audit)
    implements LogSettingsBuilder.With {
  public static final LogSettings DEFAULTS = new LogSettings(Level.INFO, Format.TEXT, "");

  /** Settings without lines for requests. */
  public LogSettings(Level level, Format format, String directory) {
    this(level, format, directory, false, Access.OFF, 1, true);
  }

  public LogSettings {
    requireNonNull(level, "level");
    requireNonNull(format, "format");
    requireNonNull(directory, "directory");
    requireNonNull(access, "access");
    if (!(accessSample >= 0 && accessSample <= 1)) {
      throw new IllegalArgumentException("accessSample: " + accessSample + " (expected: 0 to 1)");
    }
  }

  /** Requests that get a line at their end. */
  public enum Access {
    OFF,
    /** Requests with an error. */
    ERRORS,
    ALL
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
