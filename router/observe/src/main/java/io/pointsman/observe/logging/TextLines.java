package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.pointsman.engine.env.LogText;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.List;
import org.slf4j.event.KeyValuePair;

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
    line.append(": ").append(message(event));
    values(event, line);
    line.append('\n');
    String trace = trace(event);
    if (trace != null) {
      line.append(trace);
    }
  }

  /** Appends the event's named values; texts with spaces or quotes are in quotes. */
  private static void values(ILoggingEvent event, StringBuilder line) {
    List<KeyValuePair> values = event.getKeyValuePairs();
    if (values == null) {
      return;
    }
    for (KeyValuePair each : values) {
      String text = LogText.of(String.valueOf(each.value));
      boolean plain = text.chars().allMatch(c -> c != ' ' && c != '"' && c != '=');
      line.append(' ').append(each.key).append('=');
      if (plain) {
        line.append(text);
      } else {
        line.append('"').append(text.replace("\\", "\\\\").replace("\"", "\\\"")).append('"');
      }
    }
  }
}
