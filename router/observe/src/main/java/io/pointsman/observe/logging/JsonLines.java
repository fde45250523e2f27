package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.pointsman.engine.env.LogText;
import java.util.List;
import org.slf4j.event.KeyValuePair;

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
    List<KeyValuePair> values = event.getKeyValuePairs();
    if (values != null) {
      values.forEach(each -> value(line.append(','), each));
    }
    String trace = trace(event);
    if (trace != null) {
      member(line.append(','), "failure", trace);
    }
    line.append("}\n");
  }

  private static void value(StringBuilder line, KeyValuePair each) {
    if (each.value instanceof Number || each.value instanceof Boolean) {
      line.append('"').append(each.key).append("\":");
      plain(each.value, line);
    } else {
      member(line, each.key, LogText.of(String.valueOf(each.value)));
    }
  }

  private static void member(StringBuilder line, String name, String value) {
    line.append('"').append(name).append("\":\"");
    JsonStringEncoder.getInstance().quoteAsString(value, line);
    line.append('"');
  }
}
