package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.pointsman.engine.env.LogText;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.List;
import org.slf4j.event.KeyValuePair;

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
    values(event, line);
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

  /** Appends the event's named values; texts with spaces or quotes are in quotes. */
  private static void values(ILoggingEvent event, StringBuilder line) {
    List<KeyValuePair> values = event.getKeyValuePairs();
    if (values == null) {
      return;
    }
    for (KeyValuePair each : values) {
      line.append(' ').append(each.key).append('=');
      if (each.value instanceof Number || each.value instanceof Boolean) {
        plain(each.value, line);
      } else {
        text(LogText.of(String.valueOf(each.value)), line);
      }
    }
  }

  private static void text(String text, StringBuilder line) {
    boolean plain = text.indexOf(' ') < 0 && text.indexOf('"') < 0 && text.indexOf('=') < 0;
    if (plain) {
      line.append(text);
    } else {
      line.append('"').append(text.replace("\\", "\\\\").replace("\"", "\\\"")).append('"');
    }
  }
}
