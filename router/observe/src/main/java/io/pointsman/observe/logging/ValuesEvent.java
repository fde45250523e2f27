package io.pointsman.observe.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.LoggingEvent;
import io.pointsman.config.settings.LogSettings.Format;

/**
 * A line with values in the form of {@link LineValues}. It costs less than an event with a list of
 * values: Logback copies the list, and its numbers are objects.
 */
final class ValuesEvent extends LoggingEvent {
  private final Format format;
  private final String values;

  /**
   * @param format the form of the values; the log's format may have changed when the line is
   *     written
   */
  ValuesEvent(Logger logger, String message, Format format, String values) {
    super(logger.getName(), logger, Level.INFO, message, null, null);
    this.format = format;
    this.values = values;
    setThreadName(Thread.currentThread().getName());
  }

  Format format() {
    return format;
  }

  String values() {
    return values;
  }

  /** Everything is known; there is no diagnostic context. */
  @Override
  public void prepareForDeferredProcessing() {}
}
