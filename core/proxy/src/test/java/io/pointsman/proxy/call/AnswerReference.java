package io.pointsman.proxy.call;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reference model of a worker's answer. It reads all bytes together, as ISO 8859-1 text. Slow and
 * simple.
 *
 * @param head the head for the client, without the router's own lines
 * @param framing framing of the body
 * @param bodyStart start of the body
 * @param bodyEnd end of the body; {@link #CUT} or {@link #BROKEN} if there is none
 * @param readable end of the readable part of the body: its end or its first error
 * @param content readable part of the body, without framing
 * @param events true for an event stream that can be ended early
 */
@SuppressWarnings("JdkObsolete") // the test needs to know if the matcher reached the end
record AnswerReference(
    String head,
    Framing framing,
    int bodyStart,
    int bodyEnd,
    int readable,
    String content,
    boolean events) {
  static final int CUT = -1;
  static final int BROKEN = -2;

  enum Framing {
    NONE,
    LENGTH,
    CHUNKED,
    UNTIL_CLOSE
  }

  private static final String VALUE = "[\\t\\x20-\\xff]*";
  private static final Pattern STATUS =
      Pattern.compile("HTTP/1\\.[01] ([1-5][0-9]{2})( " + VALUE + ")?\\r\\n");
  private static final Pattern HEADER =
      Pattern.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]+):(" + VALUE + ")\\r\\n");
  private static final Pattern CHUNK =
      Pattern.compile("([0-9A-Fa-f]{1,15})([; \\t]" + VALUE + ")?\\r\\n");
  private static final Pattern TRAILER =
      Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\\t\\x20-\\xff]*\\r\\n");

  private static final Set<String> OF_THIS_HOP =
      Set.of(
          "connection",
          "keep-alive",
          "proxy-connection",
          "proxy-authenticate",
          "transfer-encoding",
          "te",
          "trailer",
          "upgrade",
          "x-request-id");
  private static final Set<String> NEVER_NOMINATED =
      Set.of("", "close", "keep-alive", "content-length", "content-type", "transfer-encoding");

  private record Header(String name, String value, String line) {}

  /**
   * The answer in a worker's bytes.
   *
   * @return null if there is none
   */
  static @Nullable AnswerReference of(byte[] bytes, boolean headRequest) {
    String text = new String(bytes, ISO_8859_1);
    int at = 0;
    for (int interim = 0; interim <= 64; interim++) {
      Matcher status = STATUS.matcher(text).region(at, text.length());
      if (!status.lookingAt()) {
        return null;
      }
      List<Header> headers = new ArrayList<>();
      int end = headers(text, status.end(), headers);
      int code = Integer.parseInt(status.group(1));
      if (end < 0 || code == 101 || !consistent(headers)) {
        return null;
      }
      if (code >= 200) {
        String reason = status.group(2) == null ? " " : status.group(2);
        return body(text, "HTTP/1.1 " + code + reason + "\r\n", code, headers, end, headRequest);
      }
      at = end;
    }
    return null;
  }

  /** Index after the empty line; -1 if there is none. */
  private static int headers(String text, int from, List<Header> headers) {
    int at = from;
    Matcher header = HEADER.matcher(text);
    while (!text.startsWith("\r\n", at)) {
      if (!header.region(at, text.length()).lookingAt()) {
        return -1;
      }
      String value = header.group(2).replaceAll("^[ \\t]+|[ \\t]+$", "");
      headers.add(new Header(header.group(1).toLowerCase(Locale.ROOT), value, header.group()));
      at = header.end();
    }
    return at + 2;
  }

  private static boolean consistent(List<Header> headers) {
    List<String> lengths = values(headers, "content-length");
    List<String> codings = values(headers, "transfer-encoding");
    return lengths.stream().allMatch(v -> v.matches("[0-9]{1,18}"))
        && lengths.stream().map(Long::parseLong).distinct().count() <= 1
        && codings.size() <= 1
        && nominated(headers).size() <= 32
        && codings.stream().allMatch(v -> v.equalsIgnoreCase("chunked"));
  }

  private static List<String> values(List<Header> headers, String name) {
    return headers.stream().filter(h -> h.name().equals(name)).map(Header::value).toList();
  }

  private static AnswerReference body(
      String text,
      String statusLine,
      int code,
      List<Header> headers,
      int start,
      boolean headRequest) {
    boolean chunked = !values(headers, "transfer-encoding").isEmpty();
    String head = statusLine + passedOn(headers, chunked);
    List<String> types = values(headers, "content-type");
    boolean events =
        !types.isEmpty()
            && types.getLast().split("[; \\t]", 2)[0].equalsIgnoreCase("text/event-stream")
            && values(headers, "content-encoding").isEmpty();
    int all = text.length();
    if (code == 204 || code == 304 || headRequest) {
      return new AnswerReference(head, Framing.NONE, start, start, start, "", events);
    }
    if (chunked) {
      Chunks chunks = Chunks.of(text, start);
      return new AnswerReference(
          head, Framing.CHUNKED, start, chunks.end(), chunks.readable(), chunks.content(), events);
    }
    List<String> lengths = values(headers, "content-length");
    if (lengths.isEmpty()) {
      String rest = text.substring(start);
      return new AnswerReference(head, Framing.UNTIL_CLOSE, start, all, all, rest, events);
    }
    long length = Long.parseLong(lengths.getFirst());
    int readable = (int) Math.min(all, start + length);
    int end = start + length <= all ? readable : CUT;
    String content = text.substring(start, readable);
    return new AnswerReference(head, Framing.LENGTH, start, end, readable, content, events);
  }

  private static List<String> nominated(List<Header> headers) {
    List<String> nominated = new ArrayList<>();
    for (String value : values(headers, "connection")) {
      for (String option : value.toLowerCase(Locale.ROOT).split(",", -1)) {
        if (!NEVER_NOMINATED.contains(option.strip())) {
          nominated.add(option.strip());
        }
      }
    }
    return nominated;
  }

  private static String passedOn(List<Header> headers, boolean chunked) {
    List<String> nominated = nominated(headers);
    StringBuilder out = new StringBuilder();
    boolean length = chunked;
    for (Header header : headers) {
      boolean again = header.name().equals("content-length") && length;
      length |= header.name().equals("content-length");
      if (!again
          && !OF_THIS_HOP.contains(header.name())
          && !header.name().startsWith("x-pointsman-")
          && !nominated.contains(header.name())) {
        out.append(header.line());
      }
    }
    return out.toString();
  }

  /**
   * A chunked body.
   *
   * @param end index after its last byte; {@link #CUT} or {@link #BROKEN}
   * @param readable its end, or the index of the first invalid byte
   * @param content contents of its chunks
   */
  record Chunks(int end, int readable, String content) {
    /** Reads from index {@code start} on. */
    static Chunks of(String text, int start) {
      StringBuilder content = new StringBuilder();
      int at = start;
      while (true) {
        Matcher size = CHUNK.matcher(text).region(at, text.length());
        if (!size.lookingAt()) {
          return stopped(text, at, size, content);
        }
        long length = Long.parseLong(size.group(1), 16);
        at = size.end();
        if (length == 0) {
          return trailers(text, at, content);
        }
        int part = (int) Math.min(length, text.length() - at);
        content.append(text, at, at + part);
        at += part;
        if (!text.startsWith("\r\n", at)) {
          boolean cut = at == text.length() || text.substring(at).equals("\r");
          return new Chunks(cut ? CUT : BROKEN, cut ? text.length() : at, content.toString());
        }
        at += 2;
      }
    }

    private static Chunks stopped(String text, int at, Matcher size, StringBuilder content) {
      boolean cut = size.hitEnd();
      return new Chunks(cut ? CUT : BROKEN, cut ? text.length() : at, content.toString());
    }

    private static Chunks trailers(String text, int from, StringBuilder content) {
      int at = from;
      Matcher trailer = TRAILER.matcher(text);
      while (!text.startsWith("\r\n", at)) {
        if (!trailer.region(at, text.length()).lookingAt()) {
          boolean cut = trailer.hitEnd() || text.substring(at).equals("\r");
          return new Chunks(cut ? CUT : BROKEN, cut ? text.length() : at, content.toString());
        }
        at = trailer.end();
      }
      return new Chunks(at + 2, at + 2, content.toString());
    }
  }
}
