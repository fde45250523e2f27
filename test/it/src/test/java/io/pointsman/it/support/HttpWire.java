package io.pointsman.it.support;

import io.pointsman.it.support.HttpAnswer.Head;
import io.pointsman.it.support.HttpAnswer.Header;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.ProtocolException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads HTTP/1.1 messages from a blocking stream, one after the other. */
final class HttpWire {
  private static final int MAX_LINE = 1 << 20;

  private final InputStream in;

  HttpWire(InputStream in) {
    this.in = in;
  }

  /** One line without its end; null at the end of the stream. */
  @Nullable String line() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    int next = in.read();
    if (next < 0) {
      return null;
    }
    while (next >= 0 && next != '\n') {
      if (bytes.size() > MAX_LINE) {
        throw new ProtocolException("line: longer than " + MAX_LINE);
      }
      if (next != '\r') {
        bytes.write(next);
      }
      next = in.read();
    }
    return bytes.toString(StandardCharsets.ISO_8859_1);
  }

  List<Header> headers() throws IOException {
    List<Header> headers = new ArrayList<>();
    for (String line = line(); line != null && !line.isEmpty(); line = line()) {
      int colon = line.indexOf(':');
      if (colon < 1) {
        throw new ProtocolException("header: '" + line + "' (expected: name: value)");
      }
      headers.add(new Header(line.substring(0, colon), line.substring(colon + 1).strip()));
    }
    return headers;
  }

  /** The head of the next final response, which 101 is; skips interim ones. */
  Head answerHead() throws IOException {
    while (true) {
      String line = line();
      if (line == null) {
        throw new EOFException("connection closed before an answer");
      }
      if (!line.startsWith("HTTP/1.")) {
        throw new ProtocolException("status line: '" + line + "'");
      }
      Head head = new Head(Integer.parseInt(line.substring(9, 12)), headers());
      if (head.status() >= 200 || head.status() == 101) {
        return head;
      }
    }
  }

  /** The body for {@code head}; incomplete if the stream ends or breaks early. */
  HttpAnswer answer(Head head, boolean bodiless) throws IOException {
    boolean none = bodiless || head.status() == 204 || head.status() == 304;
    if (none) {
      return new HttpAnswer(head, new byte[0], true);
    }
    if (head.chunked()) {
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      boolean complete = chunks(body);
      return new HttpAnswer(head, body.toByteArray(), complete);
    }
    long length = head.contentLength();
    if (length >= 0) {
      byte[] body = in.readNBytes(Math.toIntExact(length));
      return new HttpAnswer(head, body, body.length == length);
    }
    return new HttpAnswer(head, in.readAllBytes(), true);
  }

  /** The size of the next chunk; 0 for the last. */
  int chunkSize() throws IOException {
    String size = line();
    if (size == null || size.isEmpty()) {
      throw new EOFException("body: ends before its last chunk");
    }
    int semicolon = size.indexOf(';');
    return Integer.parseInt(semicolon < 0 ? size : size.substring(0, semicolon), 16);
  }

  /** Appends all chunks to {@code body}; false if the last one is missing. */
  boolean chunks(ByteArrayOutputStream body) throws IOException {
    try {
      while (true) {
        int length = chunkSize();
        if (length == 0) {
          headers();
          return true;
        }
        byte[] chunk = in.readNBytes(length);
        body.writeBytes(chunk);
        if (chunk.length < length || line() == null) {
          return false;
        }
      }
    } catch (NumberFormatException | EOFException | SocketException e) {
      return false;
    }
  }
}
