package io.pointsman.batch;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reader of a form ({@code multipart/form-data}), part by part, with little memory. */
final class Multipart {
  /** The form is malformed. The message is for the client. */
  static final class MalformedException extends IOException {
    private static final long serialVersionUID = 1;

    MalformedException(String message) {
      super("form data: " + message);
    }
  }

  /**
   * The head of a part.
   *
   * @param file name of the file; null if the part is none
   */
  record Part(String name, @Nullable String file) {}

  private static final int SIZE = 64 << 10;
  private static final int LONGEST_LINE = 8 << 10;
  private static final int MOST_LINES = 32;
  private static final int LONGEST_BOUNDARY = 200;
  private static final Pattern BOUNDARY =
      Pattern.compile(";\\s*boundary=(?:\"([^\"]+)\"|([^\\s;]+))", Pattern.CASE_INSENSITIVE);
  private static final Pattern NAME =
      Pattern.compile(
          ";\\s*name=(?:\"((?:[^\"\\\\]|\\\\.)*)\"|([^\\s;]+))", Pattern.CASE_INSENSITIVE);
  private static final Pattern FILE =
      Pattern.compile(
          ";\\s*filename=(?:\"((?:[^\"\\\\]|\\\\.)*)\"|([^\\s;]+))", Pattern.CASE_INSENSITIVE);

  private final InputStream in;
  private final byte[] delimiter;
  private final byte[] buffer = new byte[SIZE];
  private int from;
  private int to;

  /**
   * @param type value of the header {@code content-type}
   * @throws MalformedException if it is no form
   */
  Multipart(InputStream in, @Nullable String type) throws MalformedException {
    this.in = in;
    Matcher boundary = BOUNDARY.matcher(type == null ? "" : type);
    boolean form = type != null && type.toLowerCase(Locale.ROOT).startsWith("multipart/form-data");
    if (!form || !boundary.find()) {
      throw new MalformedException("missing (expected: multipart/form-data with a boundary)");
    }
    String text = either(boundary);
    if (text.length() > LONGEST_BOUNDARY) {
      throw new MalformedException("the boundary is too long");
    }
    delimiter = ("\r\n--" + text).getBytes(StandardCharsets.ISO_8859_1);
    // The first boundary need not follow a line break.
    buffer[0] = '\r';
    buffer[1] = '\n';
    to = 2;
  }

  private static String either(Matcher found) {
    String quoted = found.group(1);
    return quoted == null ? found.group(2) : quoted.replaceAll("\\\\(.)", "$1");
  }

  /** The next part; null after the last one. The rest of the part before is skipped. */
  @Nullable Part next() throws IOException {
    byte[] skipped = new byte[SIZE];
    while (read(skipped) >= 0) {
      // Bytes before the boundary are not needed.
    }
    from += delimiter.length;
    String rest = line();
    if (rest.startsWith("--")) {
      return null;
    }
    String name = null;
    String file = null;
    int lines = 0;
    for (String line = line(); !line.isEmpty(); line = line()) {
      if (++lines > MOST_LINES) {
        throw new MalformedException("a part has too many headers");
      }
      if (line.toLowerCase(Locale.ROOT).startsWith("content-disposition:")) {
        Matcher named = NAME.matcher(line);
        name = named.find() ? either(named) : null;
        Matcher filed = FILE.matcher(line);
        file = filed.find() ? either(filed) : null;
      }
    }
    if (name == null) {
      throw new MalformedException("a part has no name");
    }
    return new Part(name, file);
  }

  /** Reads bytes of the current part; -1 at its end. */
  int read(byte[] into) throws IOException {
    while (true) {
      int end = boundary();
      if (end == from) {
        return -1;
      }
      int certain = end > 0 ? end - from : to - from - (delimiter.length - 1);
      if (certain > 0) {
        int count = Math.min(certain, into.length);
        System.arraycopy(buffer, from, into, 0, count);
        from += count;
        return count;
      }
      if (!fill()) {
        throw new MalformedException("it ends within a part");
      }
    }
  }

  /**
   * The text of the current part.
   *
   * @param most maximum number of bytes
   */
  String text(int most) throws IOException {
    byte[] text = new byte[most];
    int length = 0;
    byte[] piece = new byte[most];
    for (int count = read(piece); count >= 0; count = read(piece)) {
      if (length + count > most) {
        throw new MalformedException("a field has more than " + most + " bytes");
      }
      System.arraycopy(piece, 0, text, length, count);
      length += count;
    }
    return new String(text, 0, length, StandardCharsets.UTF_8);
  }

  /** Index of the next boundary in the buffer; -1 if there is none. */
  private int boundary() {
    for (int at = from; at <= to - delimiter.length; at++) {
      if (buffer[at] == '\r' && matches(at)) {
        return at;
      }
    }
    return -1;
  }

  private boolean matches(int at) {
    for (int i = 0; i < delimiter.length; i++) {
      if (buffer[at + i] != delimiter[i]) {
        return false;
      }
    }
    return true;
  }

  private boolean fill() throws IOException {
    System.arraycopy(buffer, from, buffer, 0, to - from);
    to -= from;
    from = 0;
    int count = in.read(buffer, to, SIZE - to);
    to += Math.max(0, count);
    return count > 0;
  }

  private String line() throws IOException {
    int at = from;
    while (true) {
      for (; at < to - 1; at++) {
        if (buffer[at] == '\r' && buffer[at + 1] == '\n') {
          String line = new String(buffer, from, at - from, StandardCharsets.UTF_8);
          from = at + 2;
          return line;
        }
      }
      // The last boundary need not be followed by a line break.
      if (to - from >= 2 && buffer[from] == '-' && buffer[from + 1] == '-') {
        return "--";
      }
      int read = at - from;
      if (to - from > LONGEST_LINE || !fill()) {
        throw new MalformedException("a header does not end");
      }
      at = read;
    }
  }
}
