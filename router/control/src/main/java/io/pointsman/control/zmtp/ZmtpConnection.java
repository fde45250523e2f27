package io.pointsman.control.zmtp;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A ZMTP 3.0 connection (ZeroMQ's wire protocol, rfc.zeromq.org/spec/23), without security. Both
 * sides of a connection speak the same. Lengths are checked before memory is allocated, and memory
 * is allocated only as bytes arrive. Confined to one thread.
 */
public final class ZmtpConnection {
  private static final int HANDSHAKE_MILLIS = 5000;
  private static final int MORE = 1;
  private static final int LONG = 2;
  private static final int COMMAND = 4;
  private static final int SHORT_LENGTH = 255;
  private static final int SIGNATURE = 10;
  private static final int MECHANISM = 20;
  private static final int GREETING = 64;
  private static final byte[] NULL = "NULL".getBytes(US_ASCII);
  private static final byte[] READY = "\5READY".getBytes(US_ASCII);
  private static final byte[] ERROR = "\5ERROR".getBytes(US_ASCII);
  private static final byte[] PING = "\4PING".getBytes(US_ASCII);
  private static final byte[] PONG = "\4PONG".getBytes(US_ASCII);
  private static final int TTL_BYTES = 2;
  private static final int MOST_CONTEXT = 16;

  /** Maximum length of a command. Only its metadata vary in size. */
  private static final int MOST_COMMAND = 64 << 10;

  /** Maximum length of a skipped frame; a longer one ends the connection. */
  private static final long MOST_SKIPPED = 1L << 30;

  private final Socket socket;
  private final Limits limits;
  private final DataInputStream in;
  private final OutputStream out;

  /**
   * Limits of a message.
   *
   * @param bytes maximum size, all frames together
   * @param frames maximum number of frames
   * @param skips true to skip a larger message; false to end the connection
   */
  public record Limits(int bytes, int frames, boolean skips) {}

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
   * Uses a connected socket, which the caller closes.
   *
   * @param buffer size of the read buffer in bytes
   */
  public ZmtpConnection(Socket socket, Limits limits, int buffer) throws IOException {
    this.socket = socket;
    this.limits = limits;
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), buffer));
    out = socket.getOutputStream();
  }

  /**
   * Performs the handshake.
   *
   * @param kind type of this socket, for example {@code ROUTER}
   * @param other required in the type of the peer's socket; null if any is accepted
   * @throws IOException if the peer does not speak the protocol, or not in time
   */
  public void begin(String kind, @Nullable String other) throws IOException {
    socket.setSoTimeout(HANDSHAKE_MILLIS);
    out.write(greeting());
    checkGreeting();
    out.write(frame(COMMAND, ready(kind)));
    checkReady(other);
    socket.setSoTimeout(0);
  }

  private static byte[] greeting() {
    byte[] greeting = new byte[GREETING];
    greeting[0] = (byte) 0xff;
    greeting[SIGNATURE - 1] = 0x7f;
    greeting[SIGNATURE] = 3;
    System.arraycopy(NULL, 0, greeting, SIGNATURE + 2, NULL.length);
    return greeting;
  }

  private void checkGreeting() throws IOException {
    byte[] signature = new byte[SIGNATURE];
    in.readFully(signature);
    if (signature[0] != (byte) 0xff || signature[SIGNATURE - 1] != 0x7f) {
      throw new IOException("not a greeting (expected: ZMTP)");
    }
    int major = in.readUnsignedByte();
    if (major < 3) {
      throw new IOException("ZMTP " + major + " (expected: 3 or newer)");
    }
    byte[] rest = new byte[GREETING - SIGNATURE - 1];
    in.readFully(rest);
    byte[] mechanism = Arrays.copyOfRange(rest, 1, 1 + MECHANISM);
    if (!Arrays.equals(mechanism, Arrays.copyOf(NULL, MECHANISM))) {
      throw new IOException("a security mechanism (expected: NULL)");
    }
  }

  private static byte[] ready(String kind) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(READY);
    body.writeBytes("\13Socket-Type".getBytes(US_ASCII));
    body.writeBytes(new byte[] {0, 0, 0, (byte) kind.length()});
    body.writeBytes(kind.getBytes(US_ASCII));
    return body.toByteArray();
  }

  private void checkReady(@Nullable String other) throws IOException {
    int flags = in.readUnsignedByte();
    long length = length(flags);
    byte[] body = (flags & COMMAND) == 0 || length > MOST_COMMAND ? new byte[0] : body(length);
    if (!startsWith(body, READY)) {
      throw new IOException("not ready (expected: the command READY)");
    }
    if (other != null && !new String(body, US_ASCII).contains(other)) {
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

  /** Sends one message. */
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

  /**
   * Waits for the next message. Answers commands meanwhile.
   *
   * @throws EOFException if the peer has disconnected
   * @throws IOException if the data is malformed, or too large and not skipped; the connection is
   *     then unusable
   */
  public Message next() throws IOException {
    List<byte[]> frames = new ArrayList<>(3);
    long left = limits.bytes();
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
      if (left < 0 || frames.size() == limits.frames()) {
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
    if (!limits.skips()) {
      throw new IOException(
          "a message of more than " + limits.bytes() + " bytes or " + limits.frames() + " frames");
    }
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
}
