package io.pointsman.request;

/**
 * Position of a value in a body.
 *
 * @param offset bytes from the start of the body to the first byte of the value, including its
 *     quote
 * @param length length of the value in bytes, including quotes; 0 if the body has no such value
 */
public record Span(int offset, int length) {
  /** Span of an absent value. */
  public static final Span NONE = new Span(0, 0);

  public boolean present() {
    return length > 0;
  }
}
