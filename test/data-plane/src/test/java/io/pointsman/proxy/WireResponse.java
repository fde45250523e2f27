package io.pointsman.proxy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * An answer as a client received it.
 *
 * @param line status line
 * @param headers header lines in order, unchanged
 * @param body body without chunk framing
 * @param complete true if the body is complete by its framing
 */
@SuppressWarnings("ArrayRecordComponent") // used by tests only
public record WireResponse(String line, List<String> headers, byte[] body, boolean complete) {

  public int status() {
    return Integer.parseInt(line.substring(9, 12));
  }

  public String text() {
    return new String(body, StandardCharsets.UTF_8);
  }

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

  public @Nullable String header(String name) {
    List<String> values = values(name);
    return values.isEmpty() ? null : values.getFirst();
  }
}
