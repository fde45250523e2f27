package io.pointsman.testkit.engine;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** One connection to an engine, for its script: raw bytes and common messages. */
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
public final class EngineConnection {
  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;
  private final int number;
  private int requests;

  EngineConnection(Socket socket, int number) throws IOException {
    this.socket = socket;
    this.number = number;
    socket.setTcpNoDelay(true);
    in = new BufferedInputStream(socket.getInputStream(), 65_536);
    out = socket.getOutputStream();
  }

  /** The next request; null after the peer has closed the connection. */
  @Nullable EngineRequest read() throws IOException {
    String line = line();
    if (line == null) {
      return null;
    }
    List<String> headers = new ArrayList<>();
    String header;
    while ((header = line()) != null && !header.isEmpty()) {
      headers.add(header);
    }
    requests++;
    EngineRequest head = new EngineRequest(line, headers, new byte[0], number);
    return new EngineRequest(line, headers, body(head), number);
  }

  private byte[] body(EngineRequest head) throws IOException {
    String coding = head.header("transfer-encoding");
    if (coding != null && coding.toLowerCase(Locale.ROOT).endsWith("chunked")) {
      return chunks();
    }
    String length = head.header("content-length");
    return length == null ? new byte[0] : exactly(Integer.parseInt(length));
  }

  private byte[] chunks() throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    while (true) {
      String size = line();
      if (size == null) {
        throw new EOFException("body: ended before its last chunk");
      }
      int length = Integer.parseInt(size.split(";", 2)[0].strip(), 16);
      if (length == 0) {
        line();
        return body.toByteArray();
      }
      body.writeBytes(exactly(length));
      line();
    }
  }

  private byte[] exactly(int length) throws IOException {
    byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new EOFException("body: " + bytes.length + " bytes (expected: " + length + ")");
    }
    return bytes;
  }

  private @Nullable String line() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    int b;
    while ((b = in.read()) >= 0) {
      if (b == '\n') {
        return line.toString(StandardCharsets.ISO_8859_1);
      }
      if (b != '\r') {
        line.write(b);
      }
    }
    return null;
  }

  /** Number of requests received on this connection. */
  int requests() {
    return requests;
  }

  /** Sends text unchanged. */
  public EngineConnection send(String text) throws IOException {
    return send(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /** Sends bytes unchanged. */
  public EngineConnection send(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
    return this;
  }

  /** Sends the head of a chunked event stream. */
  public EngineConnection beginEvents() throws IOException {
    return send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            + "transfer-encoding: chunked\r\n\r\n");
  }

  public EngineConnection chunk(String data) throws IOException {
    byte[] bytes = data.getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    whole.writeBytes(
        (Integer.toHexString(bytes.length) + "\r\n").getBytes(StandardCharsets.US_ASCII));
    whole.writeBytes(bytes);
    whole.writeBytes("\r\n".getBytes(StandardCharsets.US_ASCII));
    return send(whole.toByteArray());
  }

  /** Sends the chunk that ends the body. */
  public EngineConnection lastChunk() throws IOException {
    return send("0\r\n\r\n");
  }

  /** Sends a complete response with a content length. */
  public EngineConnection reply(int status, String contentType, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    whole.writeBytes(
        ("HTTP/1.1 "
                + status
                + " Scripted\r\ncontent-type: "
                + contentType
                + "\r\ncontent-length: "
                + bytes.length
                + "\r\n\r\n")
            .getBytes(StandardCharsets.US_ASCII));
    whole.writeBytes(bytes);
    return send(whole.toByteArray());
  }

  /**
   * Receives bytes that are no request.
   *
   * @return the next {@code length} bytes, or those before the end
   */
  public String receive(int length) throws IOException {
    return new String(in.readNBytes(length), StandardCharsets.ISO_8859_1);
  }

  /** Receives all bytes up to the end. */
  public String receiveAll() throws IOException {
    return new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
  }

  /** Number of bytes until the peer ends its output. Keeps none of them. */
  public long countAll() throws IOException {
    return in.transferTo(OutputStream.nullOutputStream());
  }

  /** Resets the connection. */
  public void reset() throws IOException {
    socket.setSoLinger(true, 0);
    socket.close();
  }

  /** Closes the connection in an orderly way. */
  public void close() throws IOException {
    socket.close();
  }

  /** Blocks until the peer closes or resets the connection. */
  public void awaitPeerGone() {
    try {
      while (in.read() >= 0) {
        // Discards the data.
      }
    } catch (IOException _) {
      // A reset is an end too.
    }
  }

  boolean closed() {
    return socket.isClosed();
  }
}
