package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.pointsman.config.settings.LogSettings;

/**
 * Formats events as JSON, one object per line: time, level, logger, thread, message, and the stack
 * trace of a failure.
 */
final class JsonLines extends LineEncoder {
  @Override
  void write(ILoggingEvent event, StringBuilder line) {
    member(line.append('{'), "time", event.getInstant().toString());
    member(line.append(','), "level", event.getLevel().toString());
    member(line.append(','), "logger", event.getLoggerName());
    member(line.append(','), "thread", event.getThreadName());
    member(line.append(','), "message", cut(event));
    values(event, line, LogSettings.Format.JSON);
    String trace = trace(event);
    if (trace != null) {
      member(line.append(','), "failure", trace);
    }
    line.append("}\n");
  }

  private static void member(StringBuilder line, String name, String value) {
    line.append('"').append(name).append("\":\"");
    JsonStringEncoder.getInstance().quoteAsString(value, line);
    line.append('"');
  }
}
