package io.pointsman.request;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.request.json.JsonText;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the fields {@code model} and {@code stream} in multipart form data (RFC 7578). It skips
 * files without copying them and ignores fields above 1 KiB. One thread.
 */
final class FormReader {
  private static final int MAX_BOUNDARY = 256;
  private static final int MAX_VALUE = 1024;
  private static final byte[] BLANK_LINE = {'\r', '\n', '\r', '\n'};

  private final int[] shifts = new int[256];
  private byte[] delimiter = {};
  private @Nullable String model;
  private boolean stream;

  /**
   * True if the content type is {@code multipart/form-data} with a boundary of 1 to 256 characters.
   */
  static boolean reads(@Nullable String contentType) {
    return contentType != null
        && contentType.regionMatches(true, 0, "multipart/form-data", 0, 19)
        && boundary(contentType) != null;
  }

  /** Reads the parts that are complete in the given bytes. */
  void read(String contentType, byte[] body, int offset, int length) {
    model = null;
    stream = false;
    String boundary = boundary(contentType);
    if (boundary == null) {
      return;
    }
    prepare(("\r\n--" + boundary).getBytes(ISO_8859_1));
    int limit = offset + length;
    // No line break precedes the first delimiter, so the search starts with the dashes.
    int at = find(body, offset, limit, Arrays.copyOfRange(delimiter, 2, delimiter.length));
    int part = at < 0 ? -1 : at + delimiter.length - 2;
    while (part >= 0 && !last(body, part, limit)) {
      int content = find(body, part, limit, BLANK_LINE);
      if (content < 0) {
        return;
      }
      content += BLANK_LINE.length;
      int end = findDelimiter(body, content, limit);
      if (end < 0) {
        return;
      }
      field(body, part, content, end);
      part = end + delimiter.length;
    }
  }

  @Nullable String model() {
    return model;
  }

  boolean stream() {
    return stream;
  }

  private void field(byte[] body, int part, int content, int end) {
    if (end - content > MAX_VALUE) {
      return;
    }
    String head = new String(body, part, content - part, ISO_8859_1);
    String name = name(head);
    if ("model".equals(name)) {
      model = end == content ? null : new String(body, content, end - content, UTF_8);
    } else if ("stream".equals(name)) {
      stream = JsonText.saysTrue(new String(body, content, end - content, UTF_8));
    }
  }

  /** Name of the field in the head of a part; null for a file or a part without a name. */
  private static @Nullable String name(String head) {
    for (String line : head.split("\r\n", -1)) {
      if (line.regionMatches(true, 0, "content-disposition:", 0, 20)) {
        return parameter(line, "filename") == null ? parameter(line, "name") : null;
      }
    }
    return null;
  }

  private static @Nullable String boundary(String contentType) {
    String boundary = parameter(contentType, "boundary");
    boolean usable = boundary != null && !boundary.isEmpty() && boundary.length() <= MAX_BOUNDARY;
    return usable ? boundary : null;
  }

  /**
   * The value of {@code ; name=value} or {@code ; name="value"}; null if the parameter is absent.
   */
  private static @Nullable String parameter(String line, String name) {
    String lower = line.toLowerCase(Locale.ROOT);
    int at = lower.indexOf(name + "=");
    while (at > 0 && lower.charAt(at - 1) != ';' && lower.charAt(at - 1) > ' ') {
      at = lower.indexOf(name + "=", at + 1);
    }
    if (at <= 0) {
      return null;
    }
    int from = at + name.length() + 1;
    if (from < line.length() && line.charAt(from) == '"') {
      int end = line.indexOf('"', from + 1);
      return end < 0 ? null : line.substring(from + 1, end);
    }
    int end = line.indexOf(';', from);
    return line.substring(from, end < 0 ? line.length() : end).strip();
  }

  private static boolean last(byte[] body, int part, int limit) {
    return part + 2 <= limit && body[part] == '-' && body[part + 1] == '-';
  }

  private static int find(byte[] body, int from, int limit, byte[] wanted) {
    for (int i = from; i <= limit - wanted.length; i++) {
      if (Arrays.equals(body, i, i + wanted.length, wanted, 0, wanted.length)) {
        return i;
      }
    }
    return -1;
  }

  /**
   * Index of the next delimiter; -1 if there is none. Uses Horspool's search, which inspects about
   * one byte per delimiter length.
   */
  private int findDelimiter(byte[] body, int from, int limit) {
    int length = delimiter.length;
    for (int i = from; i <= limit - length; i += shifts[body[i + length - 1] & 0xFF]) {
      if (Arrays.equals(body, i, i + length, delimiter, 0, length)) {
        return i;
      }
    }
    return -1;
  }

  private void prepare(byte[] delimiter) {
    this.delimiter = delimiter;
    Arrays.fill(shifts, delimiter.length);
    for (int i = 0; i < delimiter.length - 1; i++) {
      shifts[delimiter[i] & 0xFF] = delimiter.length - 1 - i;
    }
  }
}
