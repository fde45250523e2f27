package io.pointsman.testkit.engine;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A request as received by an engine.
 *
 * @param line request line
 * @param headers header lines in order, unchanged
 * @param body body without chunk framing
 * @param connection number of its connection, from 1
 */
@SuppressWarnings("ArrayRecordComponent") // read only by tests
public record EngineRequest(String line, List<String> headers, byte[] body, int connection) {

  /** The values of a header, in order. */
  public List<String> values(String name) {
    List<String> values = new ArrayList<>();
    String prefix = name.toLowerCase(Locale.ROOT) + ":";
    for (String header : headers) {
      if (header.toLowerCase(Locale.ROOT).startsWith(prefix)) {
        values.add(header.substring(prefix.length()).strip());
      }
    }
    return values;
  }

  /** The first value of a header; null if it is missing. */
  public @Nullable String header(String name) {
    List<String> values = values(name);
    return values.isEmpty() ? null : values.getFirst();
  }

  public String bodyText() {
    return new String(body, StandardCharsets.UTF_8);
  }
}
