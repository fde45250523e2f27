package io.pointsman.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A client of HTTP/2 that sends single frames, right or wrong, and reads answers. */
final class Http2Wire implements AutoCloseable {
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int RESET = 3;
  static final int SETTINGS = 4;
  static final int PING = 6;
  static final int GOAWAY = 7;
  static final int WINDOW = 8;
  static final int CONTINUATION = 9;

  static final int END_STREAM = 1;
  static final int ACK = 1;
  static final int END_HEADERS = 4;

  static final int NO_ERROR = 0;
  static final int PROTOCOL_ERROR = 1;
  static final int INTERNAL_ERROR = 2;
  static final int CANCEL = 8;
  static final int CALM = 11;

  /** Maximum size of a frame's payload. */
  static final int MOST = 16_384;

  private static final String PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  private final Socket socket;
  private final DataInputStream in;
  private final DataOutputStream out;
  private final DefaultHttp2HeadersDecoder heads = new DefaultHttp2HeadersDecoder(false);
  private final Deque<Frame> unread = new ArrayDeque<>();

  /** True to grant the router more bytes for each part of an answer. */
  boolean reads = true;

  /** A frame as received; {@code lines} are those of a head. */
  @SuppressWarnings("ArrayRecordComponent") // read only by tests
  record Frame(int type, int flags, int stream, byte[] payload, String lines) {
    int number(int at) {
      return ByteBuffer.wrap(payload).getInt(at);
    }
  }

  /** An answer up to the end of its stream; {@code reset} is negative unless it was reset. */
  record Answer(List<String> heads, String body, List<String> trailers, int reset) {
    String status() {
      return heads.getLast().lines().findFirst().orElse("");
    }

    @Nullable String header(String name) {
      return heads
          .getLast()
          .lines()
          .filter(line -> line.startsWith(name + ": "))
          .map(line -> line.substring(name.length() + 2))
          .findFirst()
          .orElse(null);
    }
  }

  /** Connects by prior knowledge. */
  Http2Wire(int port) throws IOException {
    this(new Socket(InetAddress.getLoopbackAddress(), port));
  }

  Http2Wire(Socket connected) throws IOException {
    socket = connected;
    socket.setSoTimeout(60_000);
    socket.setTcpNoDelay(true);
    in = new DataInputStream(socket.getInputStream());
    out = new DataOutputStream(socket.getOutputStream());
    out.write(PREFACE.getBytes(ISO_8859_1));
    frame(SETTINGS, 0, 0);
  }

  Http2Wire frame(int type, int flags, int stream, byte... payload) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(9 + payload.length);
    bytes.put((byte) (payload.length >> 16)).putShort((short) payload.length);
    bytes.put((byte) type).put((byte) flags).putInt(stream).put(payload);
    out.write(bytes.array());
    return this;
  }

  /** Sends a request's head. Names and values alternate. */
  Http2Wire head(int stream, boolean end, String... lines) throws IOException {
    byte[] block = block(lines);
    int first = Math.min(block.length, MOST);
    boolean whole = first == block.length;
    int flags = (whole ? END_HEADERS : 0) | (end ? END_STREAM : 0);
    frame(HEADERS, flags, stream, Arrays.copyOf(block, first));
    for (int at = first; at < block.length; at += MOST) {
      int to = Math.min(block.length, at + MOST);
      int last = to == block.length ? END_HEADERS : 0;
      frame(CONTINUATION, last, stream, Arrays.copyOfRange(block, at, to));
    }
    return this;
  }

  static byte[] block(String... lines) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    for (int i = 0; i < lines.length; i++) {
      if (i % 2 == 0) {
        block.write(0); // a literal that is not indexed
      }
      byte[] bytes = lines[i].getBytes(ISO_8859_1);
      // A length with a prefix of 7 bits, without Huffman coding.
      if (bytes.length < 127) {
        block.write(bytes.length);
      } else {
        block.write(127);
        int rest = bytes.length - 127;
        for (; rest > 127; rest >>= 7) {
          block.write((rest & 127) | 128);
        }
        block.write(rest);
      }
      block.writeBytes(bytes);
    }
    return block.toByteArray();
  }

  static String[] get(String path, String... more) {
    return lines("GET", path, more);
  }

  static String[] post(String path, String... more) {
    return lines("POST", path, more);
  }

  private static String[] lines(String method, String path, String... more) {
    List<String> lines = new ArrayList<>();
    lines.addAll(List.of(":method", method, ":scheme", "http", ":path", path));
    lines.addAll(List.of(":authority", "router"));
    lines.addAll(List.of(more));
    return lines.toArray(new String[0]);
  }

  Http2Wire data(int stream, boolean end, String text) throws IOException {
    return frame(DATA, end ? END_STREAM : 0, stream, text.getBytes(UTF_8));
  }

  /** Sends a request with a body, and no length in its head. */
  Http2Wire chat(int stream, String body) throws IOException {
    return head(stream, false, post("/v1/chat/completions", "content-type", "application/json"))
        .data(stream, true, body);
  }

  static byte[] number(int value) {
    return ByteBuffer.allocate(4).putInt(value).array();
  }

  /** The next frame; null at the end of the connection. */
  @Nullable Frame next() throws IOException {
    Frame waiting = unread.poll();
    return waiting == null ? receive() : waiting;
  }

  private @Nullable Frame receive() throws IOException {
    byte[] head = new byte[9];
    try {
      in.readFully(head);
    } catch (EOFException | SocketException _) {
      return null;
    }
    ByteBuffer bytes = ByteBuffer.wrap(head);
    byte[] payload = new byte[bytes.getInt(0) >>> 8];
    in.readFully(payload);
    int stream = bytes.getInt(5);
    Frame frame =
        new Frame(
            head[3], head[4], stream, payload, head[3] == HEADERS ? lines(stream, payload) : "");
    try {
      if (frame.type == SETTINGS && frame.flags == 0) {
        frame(SETTINGS, ACK, 0);
      }
      if (frame.type == DATA && payload.length > 0 && reads) {
        frame(WINDOW, 0, 0, number(payload.length));
        frame(WINDOW, 0, frame.stream, number(payload.length));
      }
    } catch (SocketException _) {
      // The router has closed the connection after its last frame.
    }
    return frame;
  }

  /** The next frame of this type; null if the connection ends before. Others are dropped. */
  @Nullable Frame next(int type) throws IOException {
    Frame frame = next();
    while (frame != null && frame.type != type) {
      frame = next();
    }
    return frame;
  }

  /** True if nothing arrives for half a second. */
  boolean quiet() throws IOException {
    socket.setSoTimeout(500);
    try {
      Frame frame = receive();
      if (frame != null) {
        unread.add(frame);
      }
      return false;
    } catch (SocketTimeoutException _) {
      return true;
    } finally {
      socket.setSoTimeout(60_000);
    }
  }

  /** An unread frame of this type, which arrived before the last answer; null if there is none. */
  @Nullable Frame waiting(int type) {
    for (Frame frame : unread) {
      if (frame.type == type) {
        unread.remove(frame);
        return frame;
      }
    }
    return null;
  }

  /** Lines of a head. Each head changes the state of the decoder. */
  private String lines(int stream, byte[] payload) throws IOException {
    try {
      Http2Headers read = heads.decodeHeaders(stream, Unpooled.wrappedBuffer(payload));
      StringBuilder text = new StringBuilder();
      read.forEach(
          line ->
              text.append(
                  line.getKey().toString().equals(":status")
                      ? line.getValue() + "\n"
                      : line.getKey() + ": " + line.getValue() + "\n"));
      return text.toString();
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
  }

  /** The rest of the answer on a stream. Frames of other streams stay unread. */
  Answer answer(int stream) throws IOException {
    List<String> found = new ArrayList<>();
    List<String> trailers = new ArrayList<>();
    StringBuilder body = new StringBuilder();
    List<Frame> others = new ArrayList<>();
    int reset = -1;
    boolean data = false;
    boolean over = false;
    while (!over) {
      Frame frame = next();
      if (frame == null) {
        throw new EOFException("the connection ended, after " + found + " " + body);
      }
      if (frame.stream != stream) {
        others.add(frame);
        continue;
      }
      if (frame.type == HEADERS) {
        (data || (!found.isEmpty() && !found.getLast().startsWith("1")) ? trailers : found)
            .add(frame.lines);
      } else if (frame.type == DATA) {
        data = true;
        body.append(new String(frame.payload, UTF_8));
      } else if (frame.type == RESET) {
        reset = frame.number(0);
      }
      boolean ends = frame.type == HEADERS || frame.type == DATA;
      over = reset >= 0 || (ends && (frame.flags & END_STREAM) != 0);
    }
    unread.addAll(others);
    return new Answer(found, body.toString(), trailers, reset);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
