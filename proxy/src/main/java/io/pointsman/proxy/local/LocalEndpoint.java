package io.pointsman.proxy.local;

/**
 * An endpoint that the router answers itself. Called on a virtual thread, so it may block; what it
 * throws becomes a 500.
 */
@FunctionalInterface
public interface LocalEndpoint {
  /** What endpoints take that are told a few members. */
  int SMALL = 64 << 10;

  LocalResponse handle(LocalRequest request) throws Exception;

  /**
   * The largest body that it takes, in bytes, as far as {@code limits.max-buffered-body} allows it;
   * a larger one is answered with 413.
   */
  default int mostBytes() {
    return SMALL;
  }

  /**
   * Whether it makes do with the head of a body that is too large to be kept; otherwise such a
   * request is answered with 413. What exceeds the largest body is refused either way.
   */
  default boolean takesHeadOfBody() {
    return false;
  }
}
