package io.pointsman.proxy.local;

import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.request.RequestHeaders;
import org.jspecify.annotations.Nullable;

/** Check of a client's key, before any other handling of a request. */
public interface CallerCheck {
  /** Admits all callers. */
  CallerCheck NONE =
      new CallerCheck() {
        @Override
        public Verdict known(@Nullable String authorization) {
          return Verdict.ADMITTED;
        }

        @Override
        public Verdict ask(String authorization) {
          return Verdict.ADMITTED;
        }

        @Override
        public boolean identifies() {
          return false;
        }
      };

  /** Admits nobody. */
  CallerCheck NOBODY =
      new CallerCheck() {
        @Override
        public Verdict known(@Nullable String authorization) {
          return Verdict.REFUSED;
        }

        @Override
        public Verdict ask(String authorization) {
          return Verdict.REFUSED;
        }
      };

  /** Result of a check. */
  enum Verdict {
    ADMITTED,
    REFUSED,
    /** The caller must be looked up by {@link #ask}. */
    UNKNOWN
  }

  /**
   * Result of a check, with the client that the authority names.
   *
   * @param client null if the authority names none, or the caller is not admitted
   */
  record Admittance(Verdict verdict, @Nullable ClientIdentity client) {
    private static final Admittance ADMITTED = new Admittance(Verdict.ADMITTED, null);
    private static final Admittance REFUSED = new Admittance(Verdict.REFUSED, null);
    private static final Admittance UNKNOWN = new Admittance(Verdict.UNKNOWN, null);

    /** A result without a name of the client. */
    public static Admittance of(Verdict verdict) {
      return switch (verdict) {
        case ADMITTED -> ADMITTED;
        case REFUSED -> REFUSED;
        case UNKNOWN -> UNKNOWN;
      };
    }
  }

  /**
   * The client for which the router sends a request.
   *
   * @param owner the client as the owner of stored responses, see {@link
   *     io.pointsman.proxy.identity.ClientOwner}
   */
  record Principal(ClientIdentity client, String owner) {}

  /** As {@link #known}, with the client. */
  default Admittance admission(@Nullable String authorization) {
    return Admittance.of(known(authorization));
  }

  /** As {@link #ask}, with the client. */
  default Admittance askAdmission(String authorization) {
    return Admittance.of(ask(authorization));
  }

  /**
   * The result that is known without a lookup. Called on event loops; must neither block nor throw.
   *
   * @param authorization value of the header; null if it is absent, for which the result is never
   *     unknown
   */
  Verdict known(@Nullable String authorization);

  /**
   * Looks the caller up. The result is unknown if the authority is unreachable or too many lookups
   * are in progress. Called on a virtual thread; may block for a bounded time.
   */
  Verdict ask(String authorization);

  /**
   * True if an admitted client without a name has a key that an authority has confirmed. The key
   * then identifies it.
   */
  default boolean confirms() {
    return false;
  }

  /** True if admitted clients can have a name, or a key that an authority has confirmed. */
  default boolean identifies() {
    return true;
  }

  /**
   * The holder of a key of the router, of any role; null if the router has no such key. Called on
   * event loops; must neither block nor throw.
   *
   * @param authorization value of the header; null if it is absent
   */
  default @Nullable KeyHolder holder(@Nullable String authorization) {
    return null;
  }

  /**
   * The client for which the router sends an admitted request, for example one of a batch. The
   * request then counts as that client's. Called on event loops; must neither block nor throw.
   *
   * @param sender the client by the key of the request
   * @return null for a request of a client
   */
  default @Nullable Principal sentFor(RequestHeaders headers, ClientIdentity sender) {
    return null;
  }

  /**
   * The value of {@code Authorization}, or the same for a key in {@code x-api-key}, as clients of
   * Anthropic send it; null if there is neither.
   */
  static @Nullable String credentials(RequestHeaders headers) {
    return credentials(headers.first("authorization"), headers.first("x-api-key"));
  }

  /** The same of the values of both headers. */
  static @Nullable String credentials(@Nullable String authorization, @Nullable String key) {
    return authorization == null && key != null ? "Bearer " + key : authorization;
  }
}
