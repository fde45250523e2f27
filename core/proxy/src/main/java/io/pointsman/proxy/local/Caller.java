package io.pointsman.proxy.local;

/**
 * The caller of an endpoint of the router.
 *
 * @param kind its right
 * @param byAuthorization true if its key was in {@code Authorization}, which is then no header of
 *     the request itself
 */
public record Caller(Kind kind, boolean byAuthorization) {
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
}
