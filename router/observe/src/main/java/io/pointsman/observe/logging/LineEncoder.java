package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.encoder.EncoderBase;
import java.nio.charset.StandardCharsets;

/** Encodes each event as lines in UTF-8, without header or footer. */
abstract class LineEncoder extends EncoderBase<ILoggingEvent> {
  private static final byte[] NOTHING = {};

  /** Appends the event, including the final line end. */
  abstract void write(ILoggingEvent event, StringBuilder line);

  @Override
  public final byte[] encode(ILoggingEvent event) {
    StringBuilder line = new StringBuilder(256);
    write(event, line);
    return line.toString().getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public final byte[] headerBytes() {
    return NOTHING;
  }

  @Override
  public final byte[] footerBytes() {
    return NOTHING;
  }
}
