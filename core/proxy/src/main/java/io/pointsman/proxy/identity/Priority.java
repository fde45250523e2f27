package io.pointsman.proxy.identity;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Priority of a request in the queue, in rising order. */
public enum Priority {
  LOW,
  NORMAL,
  HIGH;

  /** Header by which a client chooses the priority of a request. */
  public static final String HEADER = "x-pointsman-priority";

  /** Name in headers and files. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * The priority of a name.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Priority of(String text) {
    Priority found = find(text);
    if (found == null) {
      throw new IllegalArgumentException("priority: " + text + " (expected: high, normal or low)");
    }
    return found;
  }

  /** The priority of a name; null if there is none. */
  public static @Nullable Priority find(String text) {
    for (Priority each : values()) {
      if (each.text().equals(text)) {
        return each;
      }
    }
    return null;
  }

  /**
   * The priority of a request.
   *
   * @param asked priority by the request's header; null if it has none
   * @param own highest priority of the client's key, which its requests have unless they ask for a
   *     lower one; null if it names none
   * @param most highest priority of clients without their own
   */
  public static Priority of(@Nullable Priority asked, @Nullable Priority own, Priority most) {
    Priority highest = own == null ? most : own;
    Priority usual = own == null ? NORMAL : own;
    Priority chosen = asked == null ? usual : asked;
    return chosen.compareTo(highest) < 0 ? chosen : highest;
  }
}
