package io.pointsman.proxy;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** A client on a plain socket. It sends given bytes and reads answers by their framing. */
public final class WireClient implements AutoCloseable {
  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;

  public WireClient(int port) throws IOException {
    this(port, InetAddress.getLoopbackAddress());
  }

  /** A client with another address of the loopback. */
  public WireClient(int port, InetAddress own) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port, own, 0);
    socket.setSoTimeout(60_000);
    socket.setTcpNoDelay(true);
    in = new BufferedInputStream(socket.getInputStream(), 65_536);
    out = socket.getOutputStream();
  }

  public WireClient send(String text) throws IOException {
    return send(text.getBytes(StandardCharsets.UTF_8));
  }

  public WireClient send(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
    return this;
  }

  /** True if unread bytes have arrived. */
  public boolean hasBytes() {
    try {
      return in.available() > 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The next line; null at the end. */
  public @Nullable String line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    int b;
    while ((b = in.read()) >= 0) {
      if (b == '\n') {
        return line.toString(StandardCharsets.UTF_8);
      }
      if (b != '\r') {
        line.write(b);
      }
    }
    return null;
  }

  /** The head of the next answer. */
  public WireResponse head() throws IOException {
    String status = line();
    if (status == null) {
      throw new EOFException("no answer");
    }
    List<String> headers = new ArrayList<>();
    String header;
    while ((header = line()) != null && !header.isEmpty()) {
      headers.add(header);
    }
    return new WireResponse(status, headers, new byte[0], false);
  }

  /** The contents of the next chunk; empty for the last one; null if the stream broke. */
  public @Nullable String chunk() throws IOException {
    try {
      String size = line();
      if (size == null) {
        return null;
      }
      byte[] data = in.readNBytes(Integer.parseInt(size, 16));
      line();
      return new String(data, StandardCharsets.UTF_8);
    } catch (SocketTimeoutException e) {
      throw e;
    } catch (IOException _) {
      return null;
    }
  }

  /** The next complete answer. */
  public WireResponse read() throws IOException {
    WireResponse head = head();
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    boolean complete = body(head, body);
    return new WireResponse(head.line(), head.headers(), body.toByteArray(), complete);
  }

  private boolean body(WireResponse head, ByteArrayOutputStream body) throws IOException {
    String coding = head.header("transfer-encoding");
    String length = head.header("content-length");
    if (coding != null && coding.toLowerCase(Locale.ROOT).equals("chunked")) {
      String chunk;
      while ((chunk = chunk()) != null) {
        if (chunk.isEmpty()) {
          return true;
        }
        body.writeBytes(chunk.getBytes(StandardCharsets.UTF_8));
      }
      return false;
    }
    if (length != null) {
      byte[] bytes = in.readNBytes(Integer.parseInt(length));
      body.writeBytes(bytes);
      return bytes.length == Integer.parseInt(length);
    }
    if (head.status() == 204 || head.status() == 304) {
      return true;
    }
    try {
      body.writeBytes(in.readAllBytes());
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  /** The next {@code length} bytes, or those before the end. */
  public String text(int length) throws IOException {
    return new String(in.readNBytes(length), StandardCharsets.UTF_8);
  }

  /** True if the proxy has closed the connection in any way. */
  public boolean atEnd() throws IOException {
    try {
      return in.read() < 0;
    } catch (SocketTimeoutException e) {
      throw e;
    } catch (IOException _) {
      return true;
    }
  }

  /** Resets the connection. */
  public void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  public Socket socket() {
    return socket;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
