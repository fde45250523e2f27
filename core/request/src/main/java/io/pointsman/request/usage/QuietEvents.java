package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;

/**
 * Search for events that contain none of some names, apart from members that are null. The name
 * {@code stop_reason} counts also if it is null.
 */
final class QuietEvents {
  /** Number of bytes that are compared at a time, with the closing quotation mark. */
  private static final int WINDOW = 7;

  /** The only name with a meaning if its value is null. No other name has its length. */
  private static final String NULL_COUNTS = "\"stop_reason\"";

  private final byte[][] names;

  /** Distance to the next candidate, by the ASCII character at the end of the current one. */
  private final byte[] steps = new byte[128];

  QuietEvents(String... names) {
    this.names = new byte[names.length][];
    Arrays.fill(steps, (byte) WINDOW);
    for (int n = 0; n < names.length; n++) {
      String quoted = "\"" + names[n] + "\"";
      this.names[n] = quoted.getBytes(US_ASCII);
      String end = quoted.substring(quoted.length() - WINDOW);
      for (int i = 0; i < WINDOW - 1; i++) {
        char c = end.charAt(i);
        steps[c] = (byte) Math.min(steps[c], WINDOW - 1 - i);
      }
    }
  }

  /**
   * True if the bytes are complete events without a name. They begin between two events.
   *
   * @param to index after the last byte
   */
  boolean all(byte[] bytes, int from, int to) {
    return to - from > WINDOW
        && bytes[to - 1] == '\n'
        && bytes[to - 2] == '\n'
        && (bytes[from] == 'd' || bytes[from] == 'e')
        && !contain(bytes, from, to);
  }

  private boolean contain(byte[] bytes, int from, int to) {
    int at = from + WINDOW - 1;
    while (at < to) {
      byte last = bytes[at];
      if (last == '"' && named(bytes, from, at, to)) {
        return true;
      }
      at += last < 0 ? WINDOW : steps[last];
    }
    return false;
  }

  private boolean named(byte[] bytes, int from, int end, int to) {
    for (byte[] name : names) {
      int start = end + 1 - name.length;
      if (bytes[end - 1] == name[name.length - 2]
          && start >= from
          && Arrays.equals(name, 0, name.length, bytes, start, end + 1)) {
        return name.length == NULL_COUNTS.length() || !isNull(bytes, end + 1, to);
      }
    }
    return false;
  }

  /** True if a member with the value null ends before {@code at}. */
  private static boolean isNull(byte[] bytes, int at, int to) {
    int value = at + 1 < to && bytes[at + 1] == ' ' ? at + 2 : at + 1;
    return value < to && bytes[at] == ':' && bytes[value] == 'n';
  }
}
