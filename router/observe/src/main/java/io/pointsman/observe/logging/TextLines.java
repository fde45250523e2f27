package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;

/**
 * Formats events as text: time in UTC with milliseconds, level, class and message, then the stack
 * trace of a failure. Local time would make the JDK search every jar for time zones at the start.
 */
final class TextLines extends LineEncoder {
  private static final int MILLIS = 3;

  private final DateTimeFormatter time =
      new DateTimeFormatterBuilder().appendInstant(MILLIS).toFormatter();

  @Override
  void write(ILoggingEvent event, StringBuilder line) {
    String name = event.getLoggerName();
    String level = event.getLevel().toString();
    time.formatTo(event.getInstant(), line);
    line.append(' ').append(level).repeat(' ', Math.max(1, 6 - level.length()));
    line.append(name, name.lastIndexOf('.') + 1, name.length());
    line.append(": ").append(event.getFormattedMessage()).append('\n');
    IThrowableProxy failure = event.getThrowableProxy();
    if (failure != null) {
      line.append(ThrowableProxyUtil.asString(failure));
    }
  }
}
