package io.pointsman.tool.bench.wire;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * HTTP client with one persistent connection for the timing of bytes. It makes one write and plain
 * reads, so its own delay is small and equal for all servers.
 */
public final class Wire implements AutoCloseable {
  private static final int BUFFER = 1 << 14;

  private final Socket socket;
  private final InputStream in;
  private final byte[] buffer = new byte[BUFFER];
  private int next;
  private int end;

  /** Time at which the bytes in the buffer arrived. */
  private long readAt;

  /**
   * Connects to {@code base}.
   *
   * @param patience timeout of each read
   */
  public Wire(String base, Duration patience) throws IOException {
    URI url = URI.create(base);
    socket = new Socket(url.getHost(), url.getPort());
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(Math.toIntExact(patience.toMillis()));
    in = socket.getInputStream();
  }

  /**
   * A complete response.
   *
   * @param firstNanos time of the first body byte, as {@link System#nanoTime}
   * @param eventNanos times of the last byte of each event, as {@link System#nanoTime}
   */
  public record TimedReply(String body, long firstNanos, List<Long> eventNanos) {}

  /**
   * Sends a POST with a JSON body.
   *
   * @param headers further header lines
   */
  public void send(String path, byte[] bytes, String... headers) throws IOException {
    StringBuilder head = new StringBuilder("POST " + path + " HTTP/1.1\r\nhost: bench\r\n");
    head.append("content-type: application/json\r\n");
    head.append("content-length: ").append(bytes.length).append("\r\n");
    for (String header : headers) {
      head.append(header).append("\r\n");
    }
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.writeBytes(head.append("\r\n").toString().getBytes(StandardCharsets.UTF_8));
    all.writeBytes(bytes);
    socket.getOutputStream().write(all.toByteArray());
  }

  /**
   * Reads a complete response.
   *
   * @throws IOException if the status is not 200, or the response is incomplete
   */
  public TimedReply read() throws IOException {
    String status = line();
    long length = -1;
    for (String header = line(); !header.isEmpty(); header = line()) {
      String lower = header.toLowerCase(Locale.ROOT);
      if (lower.startsWith("content-length:")) {
        length = Long.parseLong(lower.substring(15).strip());
      }
    }
    Body body = new Body();
    if (length >= 0) {
      body.take(length);
    } else {
      chunks(body);
    }
    String text = body.bytes.toString(StandardCharsets.UTF_8);
    if (!status.startsWith("HTTP/1.1 200 ")) {
      throw new IOException(status + ": " + text);
    }
    return new TimedReply(text, body.first, body.events);
  }

  private void chunks(Body body) throws IOException {
    for (int size = size(); size > 0; size = size()) {
      body.take(size);
      line();
    }
    line();
  }

  private int size() throws IOException {
    String line = line().strip();
    try {
      return Integer.parseInt(line, 16);
    } catch (NumberFormatException e) {
      throw new IOException("neither a length nor chunks, but: " + line, e);
    }
  }

  private String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = next(); c != '\n'; c = next()) {
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  private int next() throws IOException {
    if (next == end) {
      next = 0;
      end = Math.max(0, in.read(buffer));
      readAt = System.nanoTime();
      if (end == 0) {
        throw new EOFException("the answer ended before its end");
      }
    }
    return buffer[next++] & 0xFF;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /** The part of a body that has been read. */
  private final class Body {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final List<Long> events = new ArrayList<>();
    private long first;
    private int before;

    void take(long count) throws IOException {
      for (long i = 0; i < count; i++) {
        int c = next();
        if (bytes.size() == 0) {
          first = readAt;
        }
        if (c == '\n' && before == '\n') {
          events.add(readAt);
        }
        before = c;
        bytes.write(c);
      }
    }
  }
}
