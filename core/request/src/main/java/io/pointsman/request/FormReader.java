package io.pointsman.request;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.request.json.JsonText;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the fields {@code model} and {@code stream} in multipart form data (RFC 7578). It skips
 * files without copying them. One thread.
 *
 * <p>The last field of a name counts, as in engines. A form that servers read differently has no
 * model: for example, one with a repeated parameter, two dispositions of a part, a delimiter with
 * further text in its line, or a {@code charset} in which a name can be written in two ways.
 * Otherwise a client could show the router another model than the engine.
 */
final class FormReader {
  private static final int MAX_BOUNDARY = 256;
  private static final int MAX_VALUE = 1024;
  private static final String FORM = "multipart/form-data";

  /** Python's servers decode the names and values of fields with the form's charset. */
  private static final Set<String> CHARSETS = Set.of("utf-8", "us-ascii", "ascii");

  private static final String DISPOSITION = "content-disposition";
  private static final byte[] BLANK_LINE = {'\r', '\n', '\r', '\n'};

  private final int[] shifts = new int[256];
  private byte[] delimiter = {};
  private @Nullable String model;
  private boolean stream;

  /**
   * True if the content type is {@code multipart/form-data} with a boundary of 1 to 256 characters,
   * and in no charset but UTF-8 and ASCII.
   */
  static boolean reads(@Nullable String contentType) {
    return contentType != null
        && contentType.regionMatches(true, 0, FORM, 0, FORM.length())
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
    if (!parts(body, offset, offset + length)) {
      model = null;
      stream = false;
    }
  }

  /** Returns false if servers may read the form differently. */
  private boolean parts(byte[] body, int offset, int limit) {
    int part = first(body, offset, limit);
    while (part >= 0 && !last(body, part, limit)) {
      if (part + 2 <= limit && !lineEnd(body, part)) {
        return false;
      }
      int content = find(body, part, limit, BLANK_LINE);
      if (content < 0) {
        return true;
      }
      content += BLANK_LINE.length;
      int end = findDelimiter(body, content, limit);
      if (end < 0) {
        return true;
      }
      if (!field(body, part + 2, content, end)) {
        return false;
      }
      part = end + delimiter.length;
    }
    return true;
  }

  /** Index after the first delimiter; -1 if there is none. Its line may be the first one. */
  private int first(byte[] body, int offset, int limit) {
    int dashes = delimiter.length - 2;
    if (offset + dashes <= limit
        && Arrays.equals(body, offset, offset + dashes, delimiter, 2, delimiter.length)) {
      return offset + dashes;
    }
    int at = findDelimiter(body, offset, limit);
    return at < 0 ? -1 : at + delimiter.length;
  }

  private static boolean lineEnd(byte[] body, int at) {
    return body[at] == '\r' && body[at + 1] == '\n';
  }

  @Nullable String model() {
    return model;
  }

  boolean stream() {
    return stream;
  }

  /** Reads a part. Returns false if servers may read its head differently. */
  private boolean field(byte[] body, int head, int content, int end) {
    HeaderParameters parameters =
        disposition(new String(body, head, Math.max(0, content - 4 - head), ISO_8859_1));
    if (parameters == null) {
      return false;
    }
    String name = parameters.value("name");
    if (name == null) {
      return true;
    }
    if (parameters.value("filename") != null) {
      return !name.equals("model"); // to some servers a file takes the place of a field
    }
    if (name.equals("model")) {
      if (end - content > MAX_VALUE || parameters.value(HeaderParameters.ENCODED_FILE) != null) {
        return false;
      }
      model = end == content ? null : new String(body, content, end - content, UTF_8);
    } else if (name.equals("stream") && end - content <= MAX_VALUE) {
      stream = JsonText.saysTrue(new String(body, content, end - content, UTF_8));
    }
    return true;
  }

  /** Parameters of the only disposition in the head of a part; null if it is ambiguous. */
  private static @Nullable HeaderParameters disposition(String head) {
    HeaderParameters found = HeaderParameters.NONE;
    int count = 0;
    for (String line : head.isEmpty() ? new String[0] : head.split("\r\n", -1)) {
      int colon = line.indexOf(':');
      if (colon <= 0 || !HeaderParameters.isToken(line.substring(0, colon)) || broken(line)) {
        return null;
      }
      if (line.regionMatches(true, 0, DISPOSITION, 0, colon) && colon == DISPOSITION.length()) {
        found = HeaderParameters.of(line.substring(colon + 1));
        count++;
      }
    }
    return count > 1 ? null : found;
  }

  /** True if some servers see the end of a line in the middle. */
  private static boolean broken(String line) {
    return line.indexOf('\n') >= 0 || line.indexOf('\r') >= 0 || line.indexOf('\0') >= 0;
  }

  private static @Nullable String boundary(String contentType) {
    HeaderParameters parameters = HeaderParameters.of(contentType);
    String charset = parameters == null ? null : parameters.value("charset");
    if (parameters == null
        || (charset != null && !CHARSETS.contains(charset.toLowerCase(Locale.ROOT)))) {
      return null;
    }
    String boundary = parameters.value("boundary");
    boolean usable = boundary != null && !boundary.isEmpty() && boundary.length() <= MAX_BOUNDARY;
    return usable ? boundary : null;
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
