package io.pointsman.engine.choice;

import static java.util.Objects.requireNonNull;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * An external proxy's request for a lease. A proxy that may give up before the answer assigns the
 * id itself. It can then settle a lease even if it did not receive the answer.
 *
 * @param ttl lease duration without renewal; more than 0, at most {@link
 *     ExternalLeaseSettings#maxTtl}
 * @param id unique and hard to guess: {@value #SHORTEST_ID} to {@value #LONGEST_ID} letters,
 *     digits, hyphens and underscores. Null: the router assigns an id.
 * @param owner kind of the proxy, of a closed set; each owner has a share of all leases
 */
public record LeaseTerms(Duration ttl, @Nullable String id, String owner) {
  /** One character longer than the router's ids: the length identifies the origin of an id. */
  public static final int SHORTEST_ID = ExternalLeaseIds.LONGEST + 1;

  public static final int LONGEST_ID = 64;

  /** A request of the only owner. */
  public LeaseTerms(Duration ttl, @Nullable String id) {
    this(ttl, id, "");
  }

  public LeaseTerms {
    requireNonNull(ttl, "ttl");
    requireNonNull(owner, "owner");
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

  /** Requests a lease under an id that the router assigns. */
  public static LeaseTerms of(Duration ttl) {
    return new LeaseTerms(ttl, null);
  }

  /** Returns true if the text has the form of an id assigned by a proxy. */
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
