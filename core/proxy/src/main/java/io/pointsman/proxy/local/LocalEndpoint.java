package io.pointsman.proxy.local;

/**
 * An endpoint that the router answers itself. Called on a virtual thread; may block. An exception
 * becomes status 500.
 */
@FunctionalInterface
public interface LocalEndpoint {
  /** Maximum body in bytes of endpoints with a few members. */
  int SMALL = 64 << 10;

  LocalResponse handle(LocalRequest request) throws Exception;

  /**
   * Maximum body in bytes; {@code limits.max-buffered-body} also applies. A larger body gets status
   * 413.
   */
  default int mostBytes() {
    return SMALL;
  }

  /**
   * True if the endpoint reads the body as a stream while it arrives. Then only {@link #mostBytes}
   * and {@code limits.max-body} limit it, and {@link LocalRequest#stream} has it.
   */
  default boolean streamsBody() {
    return false;
  }

  /**
   * True if the endpoint may wait for longer than {@code timeouts.total}, and bounds its time
   * itself. Its thread is interrupted when the client leaves.
   */
  default boolean waits() {
    return false;
  }

  /**
   * True if the first part of a body above the limit for buffering suffices; otherwise it gets
   * status 413. A body above {@link #mostBytes} is refused in both cases.
   */
  default boolean takesHeadOfBody() {
    return false;
  }
}
