package io.pointsman.control.kvevents.wire;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import jdk.net.ExtendedSocketOptions;

/**
 * A connection to a bound ZeroMQ socket: the connecting side of ZMTP 3.0 (rfc.zeromq.org/spec/23),
 * without security. Lengths are checked before memory is allocated, and memory is allocated only as
 * bytes arrive. Confined to one thread, except {@link #close}.
 */
public final class ZmtpClient implements AutoCloseable {
  /** Type of this side's socket. */
  public enum Kind {
    /** Subscribes to a {@code PUB} or {@code XPUB} socket. */
    SUB,
    /** Sends requests to a {@code ROUTER} socket. */
    DEALER
  }

  /** Maximum number of frames in a message. */
  static final int MOST_FRAMES = 8;

  /** Maximum length of a skipped frame; a longer one ends the connection. */
  private static final long MOST_SKIPPED = 1L << 30;

  private static final int HANDSHAKE_MILLIS = 5000;
  private static final int BUFFER = 16 << 10;
  private static final int MORE = 1;
  private static final int LONG = 2;
  private static final int COMMAND = 4;
  private static final int SHORT_LENGTH = 255;
  private static final int MOST_COMMAND = 1024;
  private static final int QUIET_SECONDS = 30;
  private static final int PROBE_SECONDS = 10;
  private static final byte[] NULL = "NULL".getBytes(US_ASCII);
  private static final byte[] READY = "\5READY".getBytes(US_ASCII);
  private static final byte[] ERROR = "\5ERROR".getBytes(US_ASCII);
  private static final byte[] PING = "\4PING".getBytes(US_ASCII);
  private static final byte[] PONG = "\4PONG".getBytes(US_ASCII);
  private static final int TTL_BYTES = 2;
  private static final int MOST_CONTEXT = 16;

  private final Kind kind;
  private final int mostBytes;
  private final Socket socket = new Socket();
  private DataInputStream in = new DataInputStream(InputStream.nullInputStream());
  private OutputStream out = OutputStream.nullOutputStream();

  /**
   * A message.
   *
   * @param frames the frames; empty if the message was too large and was skipped
   */
  public record Message(List<byte[]> frames) {
    /** True if the message was skipped. */
    public boolean tooLarge() {
      return frames.isEmpty();
    }
  }

  /**
   * Creates an unconnected client.
   *
   * @param mostBytes maximum message size, all frames together
   */
  public ZmtpClient(Kind kind, int mostBytes) {
    this.kind = kind;
    this.mostBytes = mostBytes;
  }

  /**
   * Connects and performs the handshake. Call once.
   *
   * @throws IOException if the connection or the handshake fails
   */
  public void connect(InetSocketAddress address) throws IOException {
    socket.connect(address, HANDSHAKE_MILLIS);
    socket.setTcpNoDelay(true);
    noticeDeadPeers();
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), BUFFER));
    out = socket.getOutputStream();
    socket.setSoTimeout(HANDSHAKE_MILLIS);
    out.write(greeting());
    checkGreeting();
    out.write(frame(COMMAND, ready()));
    checkReady();
    socket.setSoTimeout(0);
  }

  /**
   * Enables TCP keep-alive: a publisher may be silent for hours, and TCP then detects a lost peer.
   */
  private void noticeDeadPeers() throws IOException {
    socket.setKeepAlive(true);
    if (socket.supportedOptions().contains(ExtendedSocketOptions.TCP_KEEPIDLE)) {
      socket.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, QUIET_SECONDS);
      socket.setOption(ExtendedSocketOptions.TCP_KEEPINTERVAL, PROBE_SECONDS);
    }
  }

  private static byte[] greeting() {
    byte[] greeting = new byte[64];
    greeting[0] = (byte) 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    System.arraycopy(NULL, 0, greeting, 12, NULL.length);
    return greeting;
  }

  private void checkGreeting() throws IOException {
    byte[] signature = new byte[10];
    in.readFully(signature);
    if (signature[0] != (byte) 0xff || signature[9] != 0x7f) {
      throw new IOException("not a greeting (expected: ZMTP)");
    }
    int major = in.readUnsignedByte();
    if (major < 3) {
      throw new IOException("ZMTP " + major + " (expected: 3 or newer)");
    }
    byte[] rest = new byte[53];
    in.readFully(rest);
    if (!Arrays.equals(Arrays.copyOfRange(rest, 1, 21), Arrays.copyOf(NULL, 20))) {
      throw new IOException("a security mechanism (expected: NULL)");
    }
  }

  private byte[] ready() {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(READY);
    body.writeBytes("\13Socket-Type".getBytes(US_ASCII));
    body.writeBytes(new byte[] {0, 0, 0, (byte) kind.name().length()});
    body.writeBytes(kind.name().getBytes(US_ASCII));
    return body.toByteArray();
  }

  private void checkReady() throws IOException {
    int flags = in.readUnsignedByte();
    long length = length(flags);
    if ((flags & COMMAND) == 0 || length > MOST_COMMAND) {
      throw new IOException("not ready (expected: the command READY)");
    }
    byte[] body = body(length);
    if (!startsWith(body, READY)) {
      throw new IOException("not ready (expected: the command READY)");
    }
    String other = kind == Kind.SUB ? "PUB" : "ROUTER";
    if (!new String(body, US_ASCII).contains(other)) {
      throw new IOException("a socket of another type (expected: " + other + ")");
    }
  }

  /** Subscribes to all messages with a first frame that begins with {@code topic}. */
  public void subscribe(byte[] topic) throws IOException {
    byte[] body = new byte[1 + topic.length];
    body[0] = 1;
    System.arraycopy(topic, 0, body, 1, topic.length);
    out.write(frame(0, body));
  }

  public void send(List<byte[]> frames) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int i = 0; i < frames.size(); i++) {
      bytes.writeBytes(frame(i < frames.size() - 1 ? MORE : 0, frames.get(i)));
    }
    out.write(bytes.toByteArray());
  }

  private static byte[] frame(int flags, byte[] body) {
    boolean small = body.length <= SHORT_LENGTH;
    ByteBuffer frame = ByteBuffer.allocate(body.length + (small ? 2 : 9));
    if (small) {
      frame.put((byte) flags).put((byte) body.length);
    } else {
      frame.put((byte) (flags | LONG)).putLong(body.length);
    }
    return frame.put(body).array();
  }

  /** Sets the read timeout in milliseconds; 0: none. */
  public void patience(int millis) throws IOException {
    socket.setSoTimeout(millis);
  }

  /**
   * Waits for the next message.
   *
   * @throws EOFException if the peer has disconnected
   * @throws IOException if the data is malformed; the connection is then unusable
   */
  public Message next() throws IOException {
    List<byte[]> frames = new ArrayList<>(3);
    long left = mostBytes;
    while (true) {
      int flags = in.readUnsignedByte();
      if ((flags & ~(MORE | LONG | COMMAND)) != 0) {
        throw new IOException("not a frame (expected: flags of ZMTP)");
      }
      long length = length(flags);
      if ((flags & COMMAND) != 0) {
        obey(length);
        continue;
      }
      left -= length;
      if (left < 0 || frames.size() == MOST_FRAMES) {
        skip(length);
        frames.clear();
        left = -1;
      } else {
        frames.add(body(length));
      }
      if ((flags & MORE) == 0) {
        return new Message(frames);
      }
    }
  }

  private void skip(long length) throws IOException {
    if (length > MOST_SKIPPED) {
      throw new IOException("a frame of " + length + " bytes");
    }
    in.skipNBytes(length);
  }

  private void obey(long length) throws IOException {
    if (length > MOST_COMMAND) {
      throw new IOException("a command of " + length + " bytes");
    }
    byte[] body = body(length);
    if (startsWith(body, PING) && body.length >= PING.length + TTL_BYTES) {
      byte[] context = Arrays.copyOfRange(body, PING.length + TTL_BYTES, body.length);
      if (context.length > MOST_CONTEXT) {
        throw new IOException("a PING of more than " + MOST_CONTEXT + " bytes");
      }
      byte[] pong = Arrays.copyOf(PONG, PONG.length + context.length);
      System.arraycopy(context, 0, pong, PONG.length, context.length);
      out.write(frame(COMMAND, pong));
    } else if (startsWith(body, ERROR)) {
      throw new IOException("the other side reports an error");
    }
  }

  private long length(int flags) throws IOException {
    long length = (flags & LONG) == 0 ? in.readUnsignedByte() : in.readLong();
    if (length < 0) {
      throw new IOException("not a frame (expected: a length)");
    }
    return length;
  }

  private byte[] body(long length) throws IOException {
    byte[] body = in.readNBytes((int) length);
    if (body.length < length) {
      throw new EOFException();
    }
    return body;
  }

  private static boolean startsWith(byte[] body, byte[] name) {
    return body.length >= name.length && Arrays.equals(body, 0, name.length, name, 0, name.length);
  }

  /** Disconnects; a reading thread gets an {@link IOException}. Thread-safe. */
  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException _) {
      // The connection is gone in any case.
    }
  }
}
