package io.pointsman.proxy.wire;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Strict parser of a request's head (RFC 9112). With more bytes it continues at its last position,
 * so it reads each byte once.
 *
 * <p>It is stricter than the RFC requires. Lines end in CRLF. One space separates the parts of the
 * request line. Its target is printable ASCII without a fragment. Lines are not folded. A colon
 * directly follows the name. A value contains no control character except the tab. A few empty
 * lines before a request are skipped.
 */
final class RequestParser {
  /** The head continues after the available bytes. */
  static final int INCOMPLETE = -1;

  /** The bytes are not the head of a request; {@link #fault} has the reason. */
  static final int FAULT = -2;

  /**
   * Numbers per header line: its start, its colon, and start and end of its value without white
   * space.
   */
  static final int NUMBERS = 4;

  /**
   * Maximum number of header lines. It is more than clients send, and few enough for several passes
   * over all lines.
   */
  static final int MOST_LINES = 1000;

  private static final String REQUEST_LINE = "request line";
  private static final String TLS =
      "request: TLS on a port without TLS (expected: HTTP in clear text)";

  /** First byte of a TLS handshake. */
  private static final byte TLS_HANDSHAKE = 0x16;

  private static final int MOST_EMPTY_BYTES = 16;
  private static final byte TOKEN = 1;
  private static final byte TEXT = 2;
  private static final byte TARGET = 4;
  private static final byte[] KINDS = kinds();

  private enum Phase {
    BEFORE,
    REQUEST_LINE,
    NAME,
    VALUE
  }

  private final int maxLine;
  private final int maxHeaders;
  private Phase phase = Phase.BEFORE;
  private int pos;
  private int lineStart;
  private int colon;
  private int headersStart;
  private int methodEnd;
  private int targetEnd;
  private int methodStart;
  private int lines;
  private int[] index = new int[16 * NUMBERS];
  private RequestHead.@Nullable HeadFault fault;
  private String problem = "";

  /**
   * @param maxLine maximum length of the request line in bytes
   * @param maxHeaders maximum total size of the header lines in bytes
   */
  RequestParser(int maxLine, int maxHeaders) {
    this.maxLine = maxLine;
    this.maxHeaders = maxHeaders;
  }

  private static byte[] kinds() {
    byte[] kinds = new byte[256];
    for (int i = 0; i < 256; i++) {
      kinds[i] |= Bytes.token((byte) i) ? TOKEN : 0;
      kinds[i] |= i == '\t' || (i >= ' ' && i != 0x7F) ? TEXT : 0;
      kinds[i] |= i > ' ' && i < 0x7F && i != '#' ? TARGET : 0;
    }
    return kinds;
  }

  private static boolean is(byte b, byte kind) {
    return (KINDS[b & 0xFF] & kind) != 0;
  }

  /** Starts a new head. */
  void reset() {
    phase = Phase.BEFORE;
    pos = 0;
    lineStart = 0;
    lines = 0;
    fault = null;
    problem = "";
  }

  /**
   * Parses the head at the start of {@code bytes}. A further call for the same head must pass the
   * earlier bytes again.
   *
   * @return length of the head in bytes, including its empty line, {@link #INCOMPLETE}, or {@link
   *     #FAULT}
   */
  int parse(byte[] bytes, int length) {
    while (true) {
      int result =
          switch (phase) {
            case BEFORE -> before(bytes, length);
            case REQUEST_LINE -> requestLine(bytes, length);
            case NAME -> name(bytes, length);
            case VALUE -> value(bytes, length);
          };
      if (result != GO_ON) {
        return result;
      }
    }
  }

  private static final int GO_ON = 0;

  private int before(byte[] bytes, int length) {
    if (pos == length) {
      return INCOMPLETE;
    }
    if (bytes[pos] != '\r') {
      phase = Phase.REQUEST_LINE;
      lineStart = pos;
      return GO_ON;
    }
    if (pos >= MOST_EMPTY_BYTES) {
      return malformed("empty lines before the request (expected: a request line)");
    }
    return lineBreak(bytes, length, REQUEST_LINE);
  }

  /**
   * Reads a CRLF.
   *
   * @param where name of the line, for the reason of a failure
   */
  private int lineBreak(byte[] bytes, int length, String where) {
    if (bytes[pos] == '\r' && pos + 1 == length) {
      return INCOMPLETE;
    }
    if (bytes[pos] != '\r' || bytes[pos + 1] != '\n') {
      boolean end = bytes[pos] == '\r' || bytes[pos] == '\n';
      return malformed(
          where + (end ? ": line end (expected: CRLF)" : ": control character (expected: text)"));
    }
    pos += 2;
    return GO_ON;
  }

  private int requestLine(byte[] bytes, int length) {
    int end = run(bytes, length, TEXT);
    if (end - lineStart > maxLine) {
      return fail(RequestHead.HeadFault.URI_TOO_LONG);
    }
    if (end == length) {
      return INCOMPLETE;
    }
    int result = clear(bytes) ? lineBreak(bytes, length, REQUEST_LINE) : malformed(TLS);
    if (result != GO_ON) {
      return result;
    }
    if (!splitRequestLine(bytes, end)) {
      return malformed("request line: invalid (expected: METHOD /path HTTP/1.1)");
    }
    headersStart = pos;
    lineStart = pos;
    phase = Phase.NAME;
    return GO_ON;
  }

  /** False for the first bytes of a TLS handshake. */
  private boolean clear(byte[] bytes) {
    return pos > lineStart || bytes[pos] != TLS_HANDSHAKE;
  }

  private int run(byte[] bytes, int length, byte kind) {
    int i = pos;
    while (i < length && is(bytes[i], kind)) {
      i++;
    }
    pos = i;
    return i;
  }

  private boolean splitRequestLine(byte[] bytes, int end) {
    methodStart = lineStart;
    int i = lineStart;
    while (i < end && is(bytes[i], TOKEN)) {
      i++;
    }
    methodEnd = i;
    if (i == lineStart || i == end || bytes[i] != ' ') {
      return false;
    }
    i++;
    while (i < end && is(bytes[i], TARGET)) {
      i++;
    }
    targetEnd = i;
    boolean target = i > methodEnd + 1 && i < end && bytes[i] == ' ';
    return target && version(bytes, i + 1, end);
  }

  /** {@code HTTP/}, a digit, a point, a digit. */
  private static boolean version(byte[] bytes, int from, int end) {
    return end - from == 8
        && Bytes.exactly(bytes, from, from + 5, "HTTP/")
        && digit(bytes[from + 5])
        && bytes[from + 6] == '.'
        && digit(bytes[from + 7]);
  }

  private static boolean digit(byte b) {
    return b >= '0' && b <= '9';
  }

  private int name(byte[] bytes, int length) {
    int end = run(bytes, length, TOKEN);
    if (end - headersStart > maxHeaders) {
      return fail(RequestHead.HeadFault.HEADERS_TOO_LARGE);
    }
    if (end == length) {
      return INCOMPLETE;
    }
    if (end > lineStart) {
      colon = end;
      pos = end + 1;
      phase = Phase.VALUE;
      return bytes[end] == ':'
          ? GO_ON
          : malformed("header name: invalid (expected: name, colon, value on one line)");
    }
    if (bytes[end] != '\r' && bytes[end] != '\n') {
      return malformed("header name: invalid (expected: name, colon, value on one line)");
    }
    int result = lineBreak(bytes, length, "headers");
    return result == GO_ON ? pos : result;
  }

  private int value(byte[] bytes, int length) {
    int end = run(bytes, length, TEXT);
    if (end - headersStart > maxHeaders) {
      return fail(RequestHead.HeadFault.HEADERS_TOO_LARGE);
    }
    if (end == length) {
      return INCOMPLETE;
    }
    int result = lineBreak(bytes, length, "header value");
    if (result == GO_ON) {
      if (lines == MOST_LINES) {
        return fail(RequestHead.HeadFault.HEADERS_TOO_LARGE);
      }
      addLine(bytes, end);
      lineStart = pos;
      phase = Phase.NAME;
    }
    return result;
  }

  private void addLine(byte[] bytes, int end) {
    int from = colon + 1;
    int to = end;
    while (from < to && Bytes.blank(bytes[from])) {
      from++;
    }
    while (to > from && Bytes.blank(bytes[to - 1])) {
      to--;
    }
    int at = lines * NUMBERS;
    if (at == index.length) {
      index = Arrays.copyOf(index, 2 * at);
    }
    index[at] = lineStart;
    index[at + 1] = colon;
    index[at + 2] = from;
    index[at + 3] = to;
    lines++;
  }

  private int malformed(String reason) {
    problem = reason;
    return fail(RequestHead.HeadFault.MALFORMED);
  }

  /** Reason of a malformed head; empty if there is none. */
  String problem() {
    return problem;
  }

  private int fail(RequestHead.HeadFault why) {
    fault = why;
    return FAULT;
  }

  /** Reason of the failure; valid only after {@link #FAULT}. */
  RequestHead.HeadFault fault() {
    return fault == null ? RequestHead.HeadFault.MALFORMED : fault;
  }

  int methodStart() {
    return methodStart;
  }

  int methodEnd() {
    return methodEnd;
  }

  int targetEnd() {
    return targetEnd;
  }

  /** End of the headers: the start of the empty line. */
  int headersEnd() {
    return lineStart;
  }

  /** A copy of the {@link #NUMBERS} of all header lines. */
  int[] lines() {
    return Arrays.copyOf(index, lines * NUMBERS);
  }
}
