package io.pointsman.observe.logging;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.LoggingEvent;

/**
 * A line with values in the form of {@link LineValues}. It costs less than an event with a list of
 * values, which Logback copies and whose numbers are objects.
 */
final class ValuesEvent extends LoggingEvent {
  private final String values;

  ValuesEvent(Logger logger, String message, String values) {
    super(logger.getName(), logger, Level.INFO, message, null, null);
    this.values = values;
    setThreadName(Thread.currentThread().getName());
  }

  String values() {
    return values;
  }

  /** Everything is known; there is no diagnostic context. */
  @Override
  public void prepareForDeferredProcessing() {}
}
