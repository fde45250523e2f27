package io.pointsman.proxy.local;

import io.pointsman.proxy.identity.ClientIdentity;
import org.jspecify.annotations.Nullable;

/**
 * The caller of an endpoint of the router.
 *
 * @param kind its right
 * @param byAuthorization true if its key was in {@code Authorization}, which is then no header of
 *     the request itself
 * @param holder holder of its key, if the key has a name; null otherwise
 */
public record Caller(Kind kind, boolean byAuthorization, @Nullable ClientIdentity holder) {
  /** Kind of a caller. */
  public enum Kind {
    /** A caller without a key of the router. */
    OPEN,
    /** A proxy with the plane's key: it asks for decisions. */
    PLANE,
    /** A caller with the administrator's key. */
    ADMIN
  }

  /** A caller without a key of the router. */
  public static final Caller OPEN = new Caller(Kind.OPEN, false);

  /** A caller without a key, or with one that has no name. */
  public Caller(Kind kind, boolean byAuthorization) {
    this(kind, byAuthorization, null);
  }

  /** Name of its key; empty if it has none. */
  public String name() {
    return holder == null ? "" : holder.name();
  }
}
