package io.pointsman.observe.logging;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.encoder.EncoderBase;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.engine.env.LogText;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.KeyValuePair;

/** Encodes each event as lines in UTF-8, without header or footer. */
abstract class LineEncoder extends EncoderBase<ILoggingEvent> {
  private static final byte[] NOTHING = {};
  private static final int USUAL_CHARS = 512;

  /** Maximum number of characters of a message; longer ones are cut. */
  private static final int MOST_CHARS = 8192;

  /** Maximum number of characters of the stack trace of a failure. */
  private static final int MOST_TRACE_CHARS = 65_536;

  /** Appends the event, including the final line end. */
  abstract void write(ILoggingEvent event, StringBuilder line);

  /**
   * The message on one line of limited length. A part of it may come from outside, and must not
   * look like a line of the router.
   */
  static String message(ILoggingEvent event) {
    return LogText.of(event.getFormattedMessage(), MOST_CHARS);
  }

  /** The message, cut to the same length. JSON escapes line breaks. */
  static String cut(ILoggingEvent event) {
    String text = event.getFormattedMessage();
    return text.length() <= MOST_CHARS ? text : text.substring(0, MOST_CHARS) + "...";
  }

  /**
   * The stack trace of the event's failure, each line indented. Messages of failures may come from
   * outside, too.
   *
   * @return null if the event has no failure
   */
  static @Nullable String trace(ILoggingEvent event) {
    IThrowableProxy failure = event.getThrowableProxy();
    if (failure == null) {
      return null;
    }
    StringBuilder trace = new StringBuilder();
    for (String line : ThrowableProxyUtil.asString(failure).lines().toList()) {
      if (trace.length() > MOST_TRACE_CHARS) {
        return trace.append("  ...\n").toString();
      }
      trace.append("  ").append(LogText.of(line.strip(), MOST_CHARS)).append('\n');
    }
    return trace.toString();
  }

  /** Appends the named values of the event. */
  static void values(ILoggingEvent event, StringBuilder line, LogSettings.Format format) {
    if (event instanceof ValuesEvent of) {
      prepared(of, line, format);
      return;
    }
    List<KeyValuePair> values = event.getKeyValuePairs();
    if (values != null) {
      LineValues to = LineValues.to(line, format);
      values.forEach(each -> to.addObject(each.key, each.value));
    }
  }

  /** Appends values that are written already. In another format they are one value. */
  private static void prepared(ValuesEvent of, StringBuilder line, LogSettings.Format format) {
    String values = of.values();
    if (of.format() == format) {
      line.append(values);
      return;
    }
    switch (format) {
      case TEXT -> line.append(" {").append(values, 1, values.length()).append('}');
      case JSON -> {
        LineValues to = LineValues.to(line, format);
        to.name("values");
        to.printable(values.strip());
      }
    }
  }

  @Override
  public final byte[] encode(ILoggingEvent event) {
    StringBuilder line = new StringBuilder(USUAL_CHARS);
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
