package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/**
 * The head of a worker's answer, strictly parsed (RFC 9112). It keeps the received bytes, so it can
 * be relayed unchanged except for the lines of this hop.
 *
 * <p>It is stricter than the RFC requires. It refuses a folded line, a bare CR or LF, white space
 * before a colon, and a transfer coding other than {@code chunked}. One object is reused for many
 * answers. It belongs to one thread; its values are valid until the next {@link #parse}.
 */
public final class ResponseHead {
  /** The head continues after the available bytes. */
  public static final int INCOMPLETE = -1;

  /** The bytes are not the head of an HTTP/1.x answer. */
  public static final int MALFORMED = -2;

  /** There is no {@code Content-Length}. */
  public static final long UNKNOWN = -1;

  private static final int STATUS_LINE_MIN = 12;
  private static final int SWITCHING = 101;

  private byte[] bytes = new byte[0];
  private int reasonStart;
  private int reasonEnd;
  private int lines;
  private int[] lineStart = new int[64];
  private boolean[] dropped = new boolean[64];
  private int headEnd;
  private int lengthLine;

  private int status;
  private boolean http10;
  private boolean close;
  private boolean keepAlive;
  private boolean chunked;
  private boolean eventStream;
  private boolean json;
  private boolean encoded;
  private boolean webSocket;
  private boolean located;
  private long contentLength;
  private long retryAfter;
  private final List<String> nominated = new ArrayList<>(2);

  /**
   * Parses the head at the start of {@code source}, which is not copied.
   *
   * @return length of the head in bytes, including its empty line, {@link #INCOMPLETE}, or {@link
   *     #MALFORMED}
   */
  public int parse(byte[] source, int length) {
    reset(source);
    int next = statusLine(length);
    while (next > 0) {
      if (next + 1 >= length) {
        return INCOMPLETE;
      }
      if (source[next] == '\r') {
        return source[next + 1] == '\n' ? finish(next) : MALFORMED;
      }
      next = headerLine(next, length);
    }
    return next;
  }

  private void reset(byte[] source) {
    bytes = source;
    lines = 0;
    http10 = false;
    close = false;
    keepAlive = false;
    chunked = false;
    eventStream = false;
    json = false;
    encoded = false;
    webSocket = false;
    located = false;
    contentLength = UNKNOWN;
    retryAfter = UNKNOWN;
    nominated.clear();
  }

  /** Parses {@code HTTP/1.1 200 OK}. Returns the index of the next line, or a negative result. */
  private int statusLine(int length) {
    if (length < STATUS_LINE_MIN) {
      return startsLikeHttp(length) ? INCOMPLETE : MALFORMED;
    }
    byte minor = bytes[7];
    if (!startsLikeHttp(7) || (minor != '1' && minor != '0') || bytes[8] != ' ') {
      return MALFORMED;
    }
    long code = Bytes.decimal(bytes, 9, 12);
    if (code < 100 || code > 599) {
      return MALFORMED;
    }
    status = (int) code;
    http10 = minor == '0';
    int end = lineEnd(STATUS_LINE_MIN, length);
    if (end < 0) {
      return end;
    }
    if (end > STATUS_LINE_MIN && bytes[STATUS_LINE_MIN] != ' ') {
      return MALFORMED;
    }
    reasonStart = STATUS_LINE_MIN;
    reasonEnd = end;
    return end + 2;
  }

  private boolean startsLikeHttp(int length) {
    int common = Math.min(length, 7);
    for (int i = 0; i < common; i++) {
      if (bytes[i] != "HTTP/1.".charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /** Index of the CR at the end of the line at {@code from}, or a negative result. */
  private int lineEnd(int from, int length) {
    for (int i = from; i < length; i++) {
      byte b = bytes[i];
      if (b < ' ' && b >= 0) {
        if (b == '\r') {
          return i + 1 >= length ? INCOMPLETE : bytes[i + 1] == '\n' ? i : MALFORMED;
        }
        if (b != '\t') {
          return MALFORMED;
        }
      }
    }
    return INCOMPLETE;
  }

  private int headerLine(int from, int length) {
    int colon = from;
    while (colon < length && Bytes.token(bytes[colon])) {
      colon++;
    }
    if (colon == length) {
      return INCOMPLETE;
    }
    if (colon == from || bytes[colon] != ':') {
      return MALFORMED;
    }
    int end = lineEnd(colon + 1, length);
    if (end < 0) {
      return end;
    }
    int valueStart = colon + 1;
    while (valueStart < end && blank(bytes[valueStart])) {
      valueStart++;
    }
    int valueEnd = end;
    while (valueEnd > valueStart && blank(bytes[valueEnd - 1])) {
      valueEnd--;
    }
    ensureLine();
    lineStart[lines] = from;
    int verdict = note(from, colon, valueStart, valueEnd);
    if (verdict == MALFORMED) {
      return MALFORMED;
    }
    dropped[lines++] = verdict == DROP;
    return end + 2;
  }

  private static boolean blank(byte b) {
    return b == ' ' || b == '\t';
  }

  private void ensureLine() {
    if (lines + 1 >= lineStart.length) {
      lineStart = Arrays.copyOf(lineStart, lines * 2);
      dropped = Arrays.copyOf(dropped, lines * 2);
    }
  }

  private static final String OF_ROUTER = "x-pointsman-";

  private static final int KEEP = 0;
  private static final int DROP = 1;

  /** Reads a line's facts about this hop. Returns KEEP or DROP for the line, or MALFORMED. */
  private int note(int name, int colon, int from, int to) {
    switch (Bytes.lower(bytes[name])) {
      case 'c' -> {
        if (Bytes.is(bytes, name, colon, "content-length")) {
          return noteLength(Bytes.decimal(bytes, from, to));
        }
        if (Bytes.is(bytes, name, colon, "content-type")) {
          eventStream = mediaType(from, to, "text/event-stream");
          json = !eventStream && mediaType(from, to, "application/json");
        } else if (Bytes.is(bytes, name, colon, "content-encoding")) {
          encoded = true;
        } else if (Bytes.is(bytes, name, colon, "content-location")) {
          located = true;
        } else if (Bytes.is(bytes, name, colon, "connection")) {
          return noteConnection(from, to);
        }
      }
      case 'k' -> {
        return Bytes.is(bytes, name, colon, "keep-alive") ? DROP : KEEP;
      }
      case 'l' -> located |= Bytes.is(bytes, name, colon, "location");
      case 'p' -> {
        return Bytes.is(bytes, name, colon, "proxy-connection")
                || Bytes.is(bytes, name, colon, "proxy-authenticate")
            ? DROP
            : KEEP;
      }
      case 'r' -> {
        if (Bytes.is(bytes, name, colon, "retry-after")) {
          retryAfter = Bytes.decimal(bytes, from, to);
        }
      }
      case 't' -> {
        if (Bytes.is(bytes, name, colon, "transfer-encoding")) {
          return noteCoding(from, to);
        }
        return Bytes.is(bytes, name, colon, "te") || Bytes.is(bytes, name, colon, "trailer")
            ? DROP
            : KEEP;
      }
      case 'u' -> {
        if (Bytes.is(bytes, name, colon, "upgrade")) {
          webSocket = Bytes.is(bytes, from, to, "websocket");
          return DROP;
        }
        return KEEP;
      }
      case 'x' -> {
        return Bytes.is(bytes, name, colon, "x-request-id") || ofRouter(name, colon) ? DROP : KEEP;
      }
      default -> {}
    }
    return KEEP;
  }

  /** True for a header that only this router gives clients. */
  private boolean ofRouter(int name, int colon) {
    int end = name + OF_ROUTER.length();
    return end < colon && Bytes.is(bytes, name, end, OF_ROUTER);
  }

  private int noteLength(long length) {
    if (length < 0 || (contentLength != UNKNOWN && contentLength != length)) {
      return MALFORMED;
    }
    if (contentLength != UNKNOWN) {
      return DROP;
    }
    contentLength = length;
    lengthLine = lines;
    return KEEP;
  }

  private int noteCoding(int from, int to) {
    if (chunked || !Bytes.is(bytes, from, to, "chunked")) {
      return MALFORMED;
    }
    chunked = true;
    return DROP;
  }

  private boolean mediaType(int from, int to, String type) {
    int end = from;
    while (end < to && bytes[end] != ';' && !blank(bytes[end])) {
      end++;
    }
    return Bytes.is(bytes, from, end, type);
  }

  /** Returns DROP, or MALFORMED if the head names too many headers of this hop. */
  private int noteConnection(int from, int to) {
    String value = new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
    for (String option : value.toLowerCase(Locale.ROOT).split(",", -1)) {
      switch (option.strip()) {
        case "close" -> close = true;
        case "keep-alive" -> keepAlive = true;
        case "", "content-length", "content-type", "transfer-encoding" -> {}
        default -> {
          // Each name is compared with each line.
          if (nominated.size() == ConnectionOptions.MOST_NAMES) {
            return MALFORMED;
          }
          nominated.add(option.strip());
        }
      }
    }
    return DROP;
  }

  private int finish(int emptyLine) {
    ensureLine();
    lineStart[lines] = emptyLine;
    headEnd = emptyLine + 2;
    if (chunked && contentLength != UNKNOWN) {
      dropped[lengthLine] = true;
    }
    for (int i = 0; i < lines && !nominated.isEmpty(); i++) {
      dropped[i] |= isNominated(lineStart[i]);
    }
    return headEnd;
  }

  private boolean isNominated(int name) {
    int colon = colon(name);
    for (String option : nominated) {
      if (Bytes.is(bytes, name, colon, option)) {
        return true;
      }
    }
    return false;
  }

  /** 100 to 599. */
  public int status() {
    return status;
  }

  /** True for an interim answer; another head follows. */
  public boolean interim() {
    return status < 200 && status != SWITCHING;
  }

  /** True if bytes of the WebSocket protocol follow the head. */
  public boolean switchesToWebSocket() {
    return status == SWITCHING && webSocket;
  }

  public boolean chunked() {
    return chunked;
  }

  /** Length of the body in bytes, or {@link #UNKNOWN}. Meaningless for a chunked body. */
  public long contentLength() {
    return contentLength;
  }

  /** True if the body is a stream of server-sent events. */
  public boolean eventStream() {
    return eventStream;
  }

  /** True if the body is a JSON document. */
  public boolean json() {
    return json;
  }

  /** True if the body is compressed. The router then cannot insert anything. */
  public boolean encoded() {
    return encoded;
  }

  /** {@code Retry-After} in seconds; {@link #UNKNOWN} if it is absent or a date. */
  public long retryAfterSeconds() {
    return retryAfter;
  }

  /** True if the worker's connection is reusable after the body. */
  public boolean reusable() {
    boolean ambiguous = chunked && (contentLength != UNKNOWN || http10);
    return !close && (!http10 || keepAlive) && !ambiguous;
  }

  /**
   * True if the answer has no body, independent of its headers.
   *
   * @param method method of the request
   */
  public boolean bodiless(String method) {
    return status == 204 || status == 304 || method.equals("HEAD");
  }

  /** Length of the head in bytes, including its empty line. */
  public int length() {
    return headEnd;
  }

  /**
   * Writes the status line and the forwarded headers, unchanged. It omits headers of this hop,
   * headers that {@code Connection} names, and headers that the router sets. A content length
   * remains unless the body is chunked. The caller writes the empty line.
   */
  public void writeTo(ByteBuf out) {
    out.writeBytes(HTTP_11);
    out.writeBytes(bytes, 9, 3);
    if (reasonEnd > reasonStart) {
      out.writeBytes(bytes, reasonStart, reasonEnd - reasonStart + 2);
    } else {
      out.writeBytes(SPACE_CRLF);
    }
    int runStart = -1;
    for (int i = 0; i < lines; i++) {
      if (!dropped[i] && runStart < 0) {
        runStart = lineStart[i];
      } else if (dropped[i] && runStart >= 0) {
        out.writeBytes(bytes, runStart, lineStart[i] - runStart);
        runStart = -1;
      }
    }
    if (runStart >= 0) {
      out.writeBytes(bytes, runStart, lineStart[lines] - runStart);
    }
  }

  /**
   * Excludes from {@link #writeTo} each header with a name that starts with {@code prefix}.
   *
   * @param prefix lower-case prefix; with a colon at its end it is a complete name
   */
  public void leaveOut(String prefix) {
    for (int i = 0; i < lines; i++) {
      int end = lineStart[i] + prefix.length();
      dropped[i] |= end < headEnd && Bytes.is(bytes, lineStart[i], end, prefix);
    }
  }

  /**
   * Replaces values of {@code Location} and {@code Content-Location}. {@link #writeTo} omits lines
   * with a replaced value.
   *
   * @param locations supplies the replacements; called only if there is such a line
   * @return the new lines, each with its line break
   */
  public String relocate(Supplier<Locations> locations) {
    if (!located) {
      return "";
    }
    Locations by = locations.get();
    StringBuilder added = new StringBuilder();
    for (int i = 0; i < lines; i++) {
      int colon = colon(lineStart[i]);
      if (!dropped[i] && locates(lineStart[i], colon)) {
        // The line ends in CR LF, before the start of the next one.
        String value = text(colon + 1, lineStart[i + 1] - 2).strip();
        String replaced = by.forClient(value);
        if (!replaced.equals(value)) {
          dropped[i] = true;
          added.append(text(lineStart[i], colon)).append(": ").append(replaced).append("\r\n");
        }
      }
    }
    return added.toString();
  }

  private boolean locates(int name, int colon) {
    return Bytes.is(bytes, name, colon, "location")
        || Bytes.is(bytes, name, colon, "content-location");
  }

  private int colon(int name) {
    int colon = name;
    while (bytes[colon] != ':') {
      colon++;
    }
    return colon;
  }

  private String text(int from, int to) {
    return new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
  }

  private static final byte[] HTTP_11 = "HTTP/1.1 ".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] SPACE_CRLF = " \r\n".getBytes(StandardCharsets.US_ASCII);
}
