package io.pointsman.app.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.encoder.EncoderBase;
import java.nio.charset.StandardCharsets;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;

/**
 * One line per event: time in UTC to the millisecond, level, class and message; then, for failures,
 * the stack. Local time would have the JDK look for time zones in every jar at the start.
 */
final class TextLines extends EncoderBase<ILoggingEvent> {
  private static final byte[] NOTHING = {};

  private static final int MILLIS = 3;

  private final DateTimeFormatter time =
      new DateTimeFormatterBuilder().appendInstant(MILLIS).toFormatter();

  @Override
  public byte[] headerBytes() {
    return NOTHING;
  }

  @Override
  public byte[] encode(ILoggingEvent event) {
    String name = event.getLoggerName();
    String level = event.getLevel().toString();
    StringBuilder line = new StringBuilder(256);
    time.formatTo(event.getInstant(), line);
    line.append(' ').append(level).repeat(' ', Math.max(1, 6 - level.length()));
    line.append(name, name.lastIndexOf('.') + 1, name.length());
    line.append(": ").append(event.getFormattedMessage()).append('\n');
    IThrowableProxy failure = event.getThrowableProxy();
    if (failure != null) {
      line.append(ThrowableProxyUtil.asString(failure));
    }
    return line.toString().getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public byte[] footerBytes() {
    return NOTHING;
  }
}
