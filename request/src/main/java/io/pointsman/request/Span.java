package io.pointsman.request;

/**
 * Where a value stands in a body.
 *
 * @param offset bytes from the start of the body to the first byte of the value, its quote included
 * @param length bytes of the value as it came, quotes included; 0 if the body has no such value
 */
public record Span(int offset, int length) {
  /** The span of a value that is not there. */
  public static final Span NONE = new Span(0, 0);

  public boolean present() {
    return length > 0;
  }
}
