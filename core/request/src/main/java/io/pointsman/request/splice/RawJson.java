package io.pointsman.request.splice;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;

/**
 * One JSON value as its bytes. It is never parsed here, so an engine's value keeps its number
 * formats, nesting and unknown members. Immutable.
 */
public final class RawJson {
  public static final RawJson NULL = of("null");
  public static final RawJson TRUE = of("true");
  public static final RawJson FALSE = of("false");

  private final byte[] bytes;

  private RawJson(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * @param text one valid JSON value
   */
  public static RawJson of(String text) {
    return new RawJson(text.getBytes(UTF_8));
  }

  public static RawJson of(long number) {
    return of(Long.toString(number));
  }

  /**
   * Copies the bytes from {@code from} (inclusive) to {@code to} (exclusive), which must be one
   * valid value.
   */
  public static RawJson copyOf(byte[] bytes, int from, int to) {
    return new RawJson(Arrays.copyOfRange(bytes, from, to));
  }

  /** Wraps the bytes of one valid value without a copy. The array must not change afterwards. */
  public static RawJson wrap(byte[] bytes) {
    return new RawJson(bytes);
  }

  /** Returns a JSON string with this content. */
  public static RawJson string(String content) {
    StringBuilder out = new StringBuilder(content.length() + 2).append('"');
    for (int i = 0; i < content.length(); i++) {
      char c = content.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append("\\u%04x".formatted((int) c));
      } else {
        out.append(c);
      }
    }
    return of(out.append('"').toString());
  }

  /** Size in bytes. */
  public int length() {
    return bytes.length;
  }

  /** The bytes without a copy; must not be changed. */
  public byte[] bytes() {
    return bytes;
  }

  public boolean isNull() {
    return equals(NULL);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RawJson that && Arrays.equals(bytes, that.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  /** The JSON text. */
  @Override
  public String toString() {
    return new String(bytes, UTF_8);
  }
}
