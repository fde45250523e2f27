package io.pointsman.proxy.http2;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import io.pointsman.proxy.wire.Decimals;
import io.pointsman.proxy.wire.Latin1;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The head of an HTTP/2 request as the head of an HTTP/1.1 request. It checks each character, so a
 * header cannot become two, and everything that HTTP/2 forbids in a request (RFC 9113, 8.2 and
 * 8.3). The parser of HTTP/1.1 checks the rest.
 */
final class RequestText {
  private static final int CRLF = '\r' << 8 | '\n';

  private final Http2Headers headers;
  private final boolean ends;
  private @Nullable CharSequence host;
  private boolean length;

  /**
   * @param ends true if the request has no body
   */
  RequestText(Http2Headers headers, boolean ends) {
    this.headers = headers;
    this.ends = ends;
  }

  /** True if the body has no length in the head, so it is sent in chunks. */
  boolean chunked() {
    return !ends && !length;
  }

  /**
   * Appends the head.
   *
   * @return false if the request is malformed; an unknown part was written
   */
  boolean write(ByteBuf out) {
    CharSequence method = headers.method();
    CharSequence path = target();
    if (method == null || path == null || !token(method, true) || !visible(path)) {
      return false;
    }
    host = headers.authority();
    if (host != null && !visible(host)) {
      return false;
    }
    Latin1.write(out, method.toString());
    out.writeByte(' ');
    Latin1.write(out, path.toString());
    Latin1.write(out, " HTTP/1.1\r\n");
    if (!writeLines(out)) {
      return false;
    }
    if (host != null) {
      writeLine(out, "host", host);
    }
    if (chunked()) {
      writeLine(out, "transfer-encoding", "chunked");
    }
    out.writeShort(CRLF);
    return true;
  }

  /** The target; null if it is missing. CONNECT has only an authority. */
  private @Nullable CharSequence target() {
    if ("CONNECT".contentEquals(orEmpty(headers.method()))) {
      return headers.authority();
    }
    CharSequence path = headers.path();
    boolean form = path != null && !path.isEmpty() && (path.charAt(0) == '/' || star(path));
    return form && headers.scheme() != null ? path : null;
  }

  private boolean star(CharSequence path) {
    return "*".contentEquals(path) && "OPTIONS".contentEquals(orEmpty(headers.method()));
  }

  private static CharSequence orEmpty(@Nullable CharSequence text) {
    return text == null ? "" : text;
  }

  private boolean writeLines(ByteBuf out) {
    StringBuilder cookies = new StringBuilder();
    for (Map.Entry<CharSequence, CharSequence> line : headers) {
      CharSequence name = line.getKey();
      CharSequence value = line.getValue();
      if (!name.isEmpty() && name.charAt(0) == ':') {
        continue;
      }
      if (!token(name, false) || !text(value)) {
        return false;
      }
      switch (name.toString()) {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade" -> {
          return false;
        }
        case "te" -> {
          if (!"trailers".contentEquals(value)) {
            return false;
          }
          writeLine(out, name, value);
        }
        case "host" -> {
          if (host != null && !host.toString().contentEquals(value)) {
            return false;
          }
          host = value;
        }
        case "cookie" -> cookies.append(cookies.isEmpty() ? "" : "; ").append(value);
        case "content-length" -> {
          // Without a body the only valid length is 0, which the codec has checked.
          length = true;
          writeLine(out, name, value);
        }
        default -> writeLine(out, name, value);
      }
    }
    if (!cookies.isEmpty()) {
      writeLine(out, "cookie", cookies);
    }
    return true;
  }

  private static void writeLine(ByteBuf out, CharSequence name, CharSequence value) {
    Latin1.write(out, name.toString());
    out.writeShort(':' << 8 | ' ');
    Latin1.write(out, value.toString());
    out.writeShort(CRLF);
  }

  private static boolean token(CharSequence text, boolean capitals) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean letter = (c >= 'a' && c <= 'z') || (capitals && c >= 'A' && c <= 'Z');
      if (!letter && !(c >= '0' && c <= '9') && "!#$%&'*+-.^_`|~".indexOf(c) < 0) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  private static boolean visible(CharSequence text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c <= ' ' || c == 0x7f || c > 0xff) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  private static boolean text(CharSequence value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if ((c < ' ' && c != '\t') || c == 0x7f || c > 0xff) {
        return false;
      }
    }
    return true;
  }

  /** Appends a part of the body as a chunk. */
  static void writeChunk(ByteBuf out, ByteBuf data) {
    Decimals.writeChunkSize(out, data.readableBytes());
    out.writeBytes(data);
    out.writeShort(CRLF);
  }
}
