package io.pointsman.app.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.encoder.EncoderBase;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import java.nio.charset.StandardCharsets;

/** One JSON object per line: time, level, logger, thread, message and, for failures, the stack. */
final class JsonLines extends EncoderBase<ILoggingEvent> {
  private static final byte[] NOTHING = {};

  @Override
  public byte[] headerBytes() {
    return NOTHING;
  }

  @Override
  public byte[] encode(ILoggingEvent event) {
    StringBuilder line = new StringBuilder(256);
    member(line.append('{'), "time", event.getInstant().toString());
    member(line.append(','), "level", event.getLevel().toString());
    member(line.append(','), "logger", event.getLoggerName());
    member(line.append(','), "thread", event.getThreadName());
    member(line.append(','), "message", event.getFormattedMessage());
    IThrowableProxy failure = event.getThrowableProxy();
    if (failure != null) {
      member(line.append(','), "failure", ThrowableProxyUtil.asString(failure));
    }
    return line.append("}\n").toString().getBytes(StandardCharsets.UTF_8);
  }

  private static void member(StringBuilder line, String name, String value) {
    line.append('"').append(name).append("\":\"");
    JsonStringEncoder.getInstance().quoteAsString(value, line);
    line.append('"');
  }

  @Override
  public byte[] footerBytes() {
    return NOTHING;
  }
}
