package io.pointsman.app.logging;

import static java.util.Objects.requireNonNull;

/**
 * What is logged and how.
 *
 * @param level the least severe level that is written
 * @param format the form of a line
 * @param directory where files are written too, one a day; empty: none
 */
public record LogSettings(Level level, Format format, String directory) {
  public static final LogSettings DEFAULTS = new LogSettings(Level.INFO, Format.TEXT, "");

  public LogSettings {
    requireNonNull(level, "level");
    requireNonNull(format, "format");
    requireNonNull(directory, "directory");
  }

  /** Severity, from the least to the most severe; {@code OFF} writes nothing. */
  public enum Level {
    DEBUG,
    INFO,
    WARN,
    ERROR,
    OFF
  }

  /** The form of a line. */
  public enum Format {
    /** For people. */
    TEXT,
    /** One JSON object per line. */
    JSON
  }
}
