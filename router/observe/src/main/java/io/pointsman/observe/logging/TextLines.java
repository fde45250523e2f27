package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.pointsman.config.settings.LogSettings;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;

/**
 * Formats events as text: time in UTC with milliseconds, level, class and message, then the stack
 * trace of a failure. Local time would make the JDK search every jar for time zones at the start.
 */
final class TextLines extends LineEncoder {
  private static final int NANOS_PER_MILLI = 1_000_000;

  private final DateTimeFormatter seconds =
      new DateTimeFormatterBuilder().appendInstant(0).toFormatter();

  /** The last second, and its text without the zone. Its formatting takes as long as the rest. */
  private long second = Long.MIN_VALUE;

  private String secondText = "";

  @Override
  void write(ILoggingEvent event, StringBuilder line) {
    String name = event.getLoggerName();
    String level = event.getLevel().toString();
    time(event.getInstant(), line);
    line.append(' ').append(level).repeat(' ', Math.max(1, 6 - level.length()));
    line.append(name, name.lastIndexOf('.') + 1, name.length());
    line.append(": ").append(message(event));
    values(event, line, LogSettings.Format.TEXT);
    line.append('\n');
    String trace = trace(event);
    if (trace != null) {
      line.append(trace);
    }
  }

  private void time(Instant time, StringBuilder line) {
    if (time.getEpochSecond() != second) {
      second = time.getEpochSecond();
      String text = seconds.format(time);
      secondText = text.substring(0, text.length() - 1);
    }
    int millis = time.getNano() / NANOS_PER_MILLI;
    line.append(secondText).append(millis < 10 ? ".00" : millis < 100 ? ".0" : ".");
    line.append(millis).append('Z');
  }
}
