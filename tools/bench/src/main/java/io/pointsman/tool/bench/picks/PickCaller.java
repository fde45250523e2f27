package io.pointsman.tool.bench.picks;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Locale;

/** Client with one persistent connection that sends one request at a time. Used by one thread. */
final class PickCaller implements AutoCloseable {
  private static final int PATIENCE_MILLIS = 30_000;
  private static final int MOST = 1 << 20;
  private static final String LEASE = "\"lease\":\"";

  private final Socket socket;
  private final InputStream in;
  private final byte[] buffer = new byte[MOST];

  PickCaller(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(PATIENCE_MILLIS);
    in = socket.getInputStream();
  }

  /**
   * Makes one pick.
   *
   * @throws IOException if a response is not a 200
   */
  void pick(PickMethod way, byte[] request) throws IOException {
    String answer = call(request);
    if (way == PickMethod.LEASE) {
      int from = answer.indexOf(LEASE) + LEASE.length();
      String lease = answer.substring(from, answer.indexOf('"', from));
      call(RayPrompts.request("/v1/leases/" + lease + "/settle", "{\"outcome\":\"succeeded\"}"));
    }
  }

  /**
   * Sends a request and returns head and body of the response.
   *
   * @throws IOException if the response is not a 200
   */
  String call(byte[] request) throws IOException {
    socket.getOutputStream().write(request);
    int size = 0;
    int needed = -1;
    while (needed < 0 || size < needed) {
      int read = in.read(buffer, size, MOST - size);
      if (read <= 0) {
        throw new EOFException("the answer ended after " + size + " bytes");
      }
      size += read;
      if (needed < 0) {
        needed = needed(size);
      }
    }
    String answer = new String(buffer, 0, size, ISO_8859_1);
    if (!answer.startsWith("HTTP/1.1 200 ")) {
      throw new IOException(answer);
    }
    return answer;
  }

  /** Size of the complete response in bytes; -1 until its head is complete. */
  private int needed(int size) throws IOException {
    String text = new String(buffer, 0, size, ISO_8859_1);
    int end = text.indexOf("\r\n\r\n");
    if (end < 0) {
      return -1;
    }
    String head = text.substring(0, end + 2).toLowerCase(Locale.ROOT);
    int length = head.indexOf("\r\ncontent-length:");
    if (length < 0) {
      throw new IOException("content-length: missing in " + head);
    }
    int from = length + "\r\ncontent-length:".length();
    return end + 4 + Integer.parseInt(head.substring(from, head.indexOf("\r\n", from)).strip());
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
