package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.pointsman.config.settings.LogSettings.Format;

/** Encodes events in a format that may change. Thread-safe. */
final class ChangingLines extends LineEncoder {
  private volatile LineEncoder lines;

  ChangingLines(Format format) {
    lines = of(format);
  }

  private static LineEncoder of(Format format) {
    return switch (format) {
      case TEXT -> new TextLines();
      case JSON -> new JsonLines();
    };
  }

  /** Encodes later events in this format. */
  void use(Format format) {
    lines = of(format);
  }

  @Override
  void write(ILoggingEvent event, StringBuilder line) {
    lines.write(event, line);
  }
}
