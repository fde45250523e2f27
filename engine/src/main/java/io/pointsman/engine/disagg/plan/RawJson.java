package io.pointsman.engine.disagg.plan;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;

/**
 * One JSON value as the bytes that stand for it. Never parsed here: what an engine sent goes on as
 * it came, with its number formats, nesting and unknown members. Immutable.
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

  /** A copy of the bytes from {@code from} to before {@code to}, which hold one valid value. */
  public static RawJson copyOf(byte[] bytes, int from, int to) {
    return new RawJson(Arrays.copyOfRange(bytes, from, to));
  }

  /** One valid value that nobody else will change: the array is kept, not copied. */
  public static RawJson wrap(byte[] bytes) {
    return new RawJson(bytes);
  }

  /** A string with this content. */
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

  /** The bytes themselves, not a copy: not to be changed. */
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

  /** The text. */
  @Override
  public String toString() {
    return new String(bytes, UTF_8);
  }
}
