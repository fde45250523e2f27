package io.pointsman.it.support;

import io.pointsman.it.support.HttpAnswer.Head;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A connection to a router or an engine at the level of bytes. It can send anything, read slowly,
 * and leave at any point. Blocking; for one thread at a time, except {@link #leave} and {@link
 * #reset}.
 */
public final class RawClient implements AutoCloseable {
  private static final int CONNECT_LIMIT_MS = 60_000;
  private static final int READ_LIMIT_MS = 60_000;

  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;
  private final HttpWire wire;
  private boolean head;

  private RawClient(Socket socket, int readAhead) throws IOException {
    this.socket = socket;
    in = new BufferedInputStream(socket.getInputStream(), readAhead);
    out = socket.getOutputStream();
    wire = new HttpWire(in);
  }

  /** Connects to a port of this machine. */
  public static RawClient connect(int port) throws IOException {
    return connect(port, 0, 16 << 10);
  }

  /**
   * Connects with a small window, so little of a response fits between the sender and an idle
   * reader.
   *
   * @param receiveBuffer receive buffer of the socket, in bytes
   */
  public static RawClient connectSlow(int port, int receiveBuffer) throws IOException {
    return connect(port, receiveBuffer, 1 << 10);
  }

  private static RawClient connect(int port, int receiveBuffer, int readAhead) throws IOException {
    Socket socket = new Socket();
    if (receiveBuffer > 0) {
      socket.setReceiveBufferSize(receiveBuffer);
    }
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(READ_LIMIT_MS);
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    socket.connect(address, CONNECT_LIMIT_MS);
    return new RawClient(socket, readAhead);
  }

  /** Sends one request on a new connection. */
  public static HttpAnswer call(int port, String method, String target, String body)
      throws IOException {
    try (RawClient client = connect(port)) {
      return client.send(method, target, body).read();
    }
  }

  /** Sends bytes unchanged. */
  public RawClient send(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
    return this;
  }

  /** Sends a JSON request. */
  public RawClient send(String method, String target, String body) throws IOException {
    return send(method, target, body.getBytes(StandardCharsets.UTF_8), List.of());
  }

  /** Sends a request; {@code headers} are complete lines. */
  public RawClient send(String method, String target, byte[] body, List<String> headers)
      throws IOException {
    head = method.equals("HEAD");
    byte[] first = head(method, target, body.length, headers);
    byte[] whole = new byte[first.length + body.length];
    System.arraycopy(first, 0, whole, 0, first.length);
    System.arraycopy(body, 0, whole, first.length, body.length);
    return send(whole);
  }

  /** Sends a request with a body in chunks of {@code size}. */
  public RawClient sendChunked(String method, String target, byte[] body, int size)
      throws IOException {
    send(
        "%s %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
            .formatted(method, target)
            .getBytes(StandardCharsets.ISO_8859_1));
    for (int from = 0; from < body.length; from += size) {
      int length = Math.min(size, body.length - from);
      send((Integer.toHexString(length) + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
      out.write(body, from, length);
      send("\r\n".getBytes(StandardCharsets.ISO_8859_1));
    }
    return send("0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
  }

  /** Sends the head of a request and only a part of its body. */
  public RawClient sendPart(String method, String target, byte[] body, int part)
      throws IOException {
    send(head(method, target, body.length, List.of()));
    out.write(body, 0, part);
    out.flush();
    return this;
  }

  private static byte[] head(String method, String target, int length, List<String> headers) {
    StringBuilder text = new StringBuilder();
    text.append(method).append(' ').append(target).append(" HTTP/1.1\r\nhost: localhost\r\n");
    if (length > 0) {
      text.append("content-type: application/json\r\ncontent-length: ").append(length);
      text.append("\r\n");
    }
    headers.forEach(line -> text.append(line).append("\r\n"));
    return text.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
  }

  /** The complete next response. */
  public HttpAnswer read() throws IOException {
    return wire.answer(readHead(), head);
  }

  /** The head of the next response; its body stays in the connection. */
  public Head readHead() throws IOException {
    return wire.answerHead();
  }

  /** The body of the response with this head. */
  public HttpAnswer readBody(Head answerHead) throws IOException {
    return wire.answer(answerHead, head);
  }

  /** Reads at most {@code most} bytes, including framing; -1 at the end. */
  public int readSome(byte[] into, int most) throws IOException {
    return in.read(into, 0, most);
  }

  /** Called before each piece of a body; returns true if the reader need not slow down any more. */
  public interface Pace {
    boolean hurry() throws InterruptedException;
  }

  /**
   * Reads and discards the chunks of the response with this head.
   *
   * @param pace called before each small piece until it returns true
   * @return length of the body in bytes
   * @throws IOException if the body ends before its last chunk
   */
  public long skipChunks(Head answerHead, Pace pace) throws IOException, InterruptedException {
    if (!answerHead.chunked()) {
      throw new IOException(answerHead + " (expected: transfer-encoding: chunked)");
    }
    byte[] piece = new byte[512];
    byte[] large = new byte[64 << 10];
    boolean hurry = false;
    long total = 0;
    for (int left = wire.chunkSize(); left > 0; left = wire.chunkSize()) {
      total += left;
      while (left > 0) {
        hurry = hurry || pace.hurry();
        byte[] into = hurry ? large : piece;
        int read = in.read(into, 0, Math.min(left, into.length));
        if (read < 0) {
          throw new java.io.EOFException("body: cut short after " + (total - left));
        }
        left -= read;
      }
      wire.line();
    }
    wire.line();
    return total;
  }

  /** Closes the connection in an orderly way (FIN), or with a reset if responses are unread. */
  public void leave() throws IOException {
    socket.close();
  }

  /** Resets the connection (RST). */
  public void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
