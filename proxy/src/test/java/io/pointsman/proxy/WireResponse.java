package io.pointsman.proxy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * An answer as it reached a client.
 *
 * @param line status line
 * @param headers header lines in order, as they came
 * @param body body, without chunk framing
 * @param complete whether the body came to the end that its framing promises
 */
@SuppressWarnings("ArrayRecordComponent") // looked at by tests only
record WireResponse(String line, List<String> headers, byte[] body, boolean complete) {

  int status() {
    return Integer.parseInt(line.substring(9, 12));
  }

  String text() {
    return new String(body, StandardCharsets.UTF_8);
  }

  List<String> values(String name) {
    List<String> values = new ArrayList<>();
    String prefix = name.toLowerCase(Locale.ROOT) + ":";
    for (String header : headers) {
      if (header.toLowerCase(Locale.ROOT).startsWith(prefix)) {
        values.add(header.substring(prefix.length()).strip());
      }
    }
    return values;
  }

  @Nullable String header(String name) {
    List<String> values = values(name);
    return values.isEmpty() ? null : values.getFirst();
  }
}
