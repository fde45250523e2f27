package io.pointsman.engine.choice;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a plane asks to be held. One that may give up before the answer has come gives the lease its
 * id, so that it can settle what it has not heard of.
 *
 * @param ttl how long without a further word; more than 0, at most {@link HoldSettings#maxTtl}
 * @param id of the lease, for this one alone and hard to guess: {@value #SHORTEST_ID} to {@value
 *     #LONGEST_ID} letters, digits, hyphens and underscores; null: the router makes one
 */
public record Hold(Duration ttl, @Nullable String id) {
  /** One more than those that the router makes, so that an id tells whose it is. */
  public static final int SHORTEST_ID = HeldIds.LONGEST + 1;

  public static final int LONGEST_ID = 64;

  public Hold {
    requireNonNull(ttl, "ttl");
    if (id != null && !isId(id)) {
      String shown = id.length() <= LONGEST_ID ? id : id.substring(0, LONGEST_ID) + "...";
      throw new IllegalArgumentException(
          "lease: "
              + shown
              + " (expected: "
              + SHORTEST_ID
              + " to "
              + LONGEST_ID
              + " letters, digits, - and _)");
    }
  }

  /** A place under an id of the router's. */
  public static Hold of(Duration ttl) {
    return new Hold(ttl, null);
  }

  /** Whether a plane may have given a lease this id. */
  static boolean isId(String text) {
    int length = text.length();
    if (length < SHORTEST_ID || length > LONGEST_ID) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      char c = text.charAt(i);
      boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter && (c < '0' || c > '9') && c != '-' && c != '_') {
        return false;
      }
    }
    return true;
  }
}
