package io.pointsman.observe.logging;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.engine.env.LogText;
import org.jspecify.annotations.Nullable;

/**
 * Writer of the named values of a line, in the log's format. Texts may come from outside; they are
 * escaped and cut.
 */
abstract class LineValues {
  /** Limit of numbers with one decimal place that are written without the JDK's conversion. */
  private static final long MOST_TENTHS = 10_000_000;

  final StringBuilder line;

  private LineValues(StringBuilder line) {
    this.line = line;
  }

  /** A writer that appends to {@code line}. */
  static LineValues to(StringBuilder line, LogSettings.Format format) {
    return switch (format) {
      case TEXT -> new TextLine(line);
      case JSON -> new JsonLine(line);
    };
  }

  /** Appends everything before a value. */
  abstract void name(String name);

  /** Appends a text without control characters. */
  abstract void printable(String text);

  /** Appends a text, unless it is null or empty. */
  final void add(String name, @Nullable String text) {
    if (text != null && !text.isEmpty()) {
      name(name);
      printable(LogText.of(text));
    }
  }

  final void add(String name, long number) {
    name(name);
    line.append(number);
  }

  final void add(String name, boolean truth) {
    name(name);
    line.append(truth);
  }

  /**
   * Appends a number in tenths, with one decimal place. The JDK takes long for a decimal number.
   */
  final void addTenths(String name, long tenths) {
    name(name);
    tenths(tenths);
  }

  private void tenths(long tenths) {
    line.append(tenths / 10).append('.').append((char) ('0' + tenths % 10));
  }

  /** Appends a value of any class. */
  final void addObject(String name, @Nullable Object value) {
    name(name);
    if (value instanceof Double number) {
      long tenths = Math.round(number * 10);
      if (tenths >= 0 && tenths < MOST_TENTHS && tenths / 10.0 == number) {
        tenths(tenths);
        return;
      }
    }
    if (value instanceof Number || value instanceof Boolean) {
      line.append(value);
    } else {
      printable(LogText.of(String.valueOf(value)));
    }
  }

  /** As {@code name=value}; texts with spaces or quotes are in quotes. */
  private static final class TextLine extends LineValues {
    TextLine(StringBuilder line) {
      super(line);
    }

    @Override
    void name(String name) {
      line.append(' ').append(name).append('=');
    }

    @Override
    void printable(String text) {
      boolean plain = text.indexOf(' ') < 0 && text.indexOf('"') < 0 && text.indexOf('=') < 0;
      if (plain) {
        line.append(text);
      } else {
        line.append('"').append(text.replace("\\", "\\\\").replace("\"", "\\\"")).append('"');
      }
    }
  }

  /** As members of an object that has some. */
  private static final class JsonLine extends LineValues {
    JsonLine(StringBuilder line) {
      super(line);
    }

    @Override
    void name(String name) {
      line.append(",\"").append(name).append("\":");
    }

    @Override
    void printable(String text) {
      line.append('"');
      JsonStringEncoder.getInstance().quoteAsString(text, line);
      line.append('"');
    }
  }
}
