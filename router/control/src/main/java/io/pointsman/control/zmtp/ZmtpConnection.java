package io.pointsman.control.peers;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The receiving side of a ZMTP 3.0 connection (ZeroMQ's wire protocol, rfc.zeromq.org/spec/23),
 * without security. Lengths are checked before memory is allocated. Confined to the reading thread.
 */
final class ZmtpConnection {
  /** Maximum message size in bytes, all frames together. */
  static final int MOST_BYTES = 64 << 10;

  static final int MOST_FRAMES = 64;

  private static final int HANDSHAKE_MILLIS = 5000;
  private static final int MORE = 1;
  private static final int LONG = 2;
  private static final int COMMAND = 4;
  private static final int MECHANISM = 20;
  private static final byte[] READY = "\5READY".getBytes(US_ASCII);
  private static final byte[] ERROR = "\5ERROR".getBytes(US_ASCII);
  private static final byte[] PING = "\4PING".getBytes(US_ASCII);
  private static final byte[] PONG = "\4PONG".getBytes(US_ASCII);
  private static final int TTL_BYTES = 2;
  private static final int MOST_CONTEXT = 16;

  private final Socket socket;
  private final DataInputStream in;
  private final OutputStream out;

  @SuppressWarnings("ArrayRecordComponent") // passed on without copy, never compared
  private record Frame(int flags, byte[] body) {
    boolean has(int flag) {
      return (flags & flag) != 0;
    }
  }

  ZmtpConnection(Socket socket) throws IOException {
    this.socket = socket;
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 2048));
    out = socket.getOutputStream();
  }

  /**
   * Performs the handshake.
   *
   * @param kind type of this socket, for example {@code ROUTER}
   * @throws IOException if the peer does not speak the protocol, or not in time
   */
  void begin(String kind) throws IOException {
    socket.setSoTimeout(HANDSHAKE_MILLIS);
    out.write(greeting());
    checkGreeting();
    out.write(ready(kind));
    Frame answer = frame(MOST_BYTES);
    if (!answer.has(COMMAND) || !startsWith(answer.body(), READY)) {
      throw new IOException("not ready (expected: the command READY)");
    }
    socket.setSoTimeout(0);
    socket.setKeepAlive(true);
  }

  private static byte[] greeting() {
    byte[] greeting = new byte[64];
    greeting[0] = (byte) 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    System.arraycopy("NULL".getBytes(US_ASCII), 0, greeting, 12, 4);
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
    byte[] mechanism = new byte[MECHANISM];
    System.arraycopy("NULL".getBytes(US_ASCII), 0, mechanism, 0, 4);
    if (!Arrays.equals(mechanism, Arrays.copyOfRange(rest, 1, 1 + MECHANISM))) {
      throw new IOException("a security mechanism (expected: NULL)");
    }
  }

  private static byte[] ready(String kind) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes(READY);
    body.writeBytes("\13Socket-Type".getBytes(US_ASCII));
    body.writeBytes(new byte[] {0, 0, 0, (byte) kind.length()});
    body.writeBytes(kind.getBytes(US_ASCII));
    return command(body.toByteArray());
  }

  private static byte[] command(byte[] body) {
    byte[] frame = new byte[2 + body.length];
    frame[0] = COMMAND;
    frame[1] = (byte) body.length;
    System.arraycopy(body, 0, frame, 2, body.length);
    return frame;
  }

  /**
   * The frames of the next message; at least one.
   *
   * @throws EOFException if the peer has disconnected
   * @throws IOException if the data is malformed or too large
   */
  List<byte[]> next() throws IOException {
    List<byte[]> frames = new ArrayList<>(2);
    int left = MOST_BYTES;
    while (true) {
      Frame frame = frame(left);
      if (frame.has(COMMAND)) {
        obey(frame.body());
        continue;
      }
      if (frames.size() == MOST_FRAMES) {
        throw new IOException("a message of more than " + MOST_FRAMES + " frames");
      }
      frames.add(frame.body());
      left -= frame.body().length;
      if (!frame.has(MORE)) {
        return frames;
      }
    }
  }

  private void obey(byte[] body) throws IOException {
    if (startsWith(body, PING) && body.length >= PING.length + TTL_BYTES) {
      byte[] context = Arrays.copyOfRange(body, PING.length + TTL_BYTES, body.length);
      if (context.length > MOST_CONTEXT) {
        throw new IOException("a PING of more than " + MOST_CONTEXT + " bytes");
      }
      byte[] pong = Arrays.copyOf(PONG, PONG.length + context.length);
      System.arraycopy(context, 0, pong, PONG.length, context.length);
      out.write(command(pong));
    } else if (startsWith(body, ERROR)) {
      throw new IOException("the other side reports an error");
    }
  }

  private Frame frame(int most) throws IOException {
    int flags = in.readUnsignedByte();
    if ((flags & ~(MORE | LONG | COMMAND)) != 0) {
      throw new IOException("not a frame (expected: flags of ZMTP)");
    }
    long length = (flags & LONG) == 0 ? in.readUnsignedByte() : in.readLong();
    if (length < 0 || length > most) {
      throw new IOException("a message of more than " + MOST_BYTES + " bytes");
    }
    byte[] body = in.readNBytes((int) length);
    if (body.length < length) {
      throw new EOFException();
    }
    return new Frame(flags, body);
  }

  private static boolean startsWith(byte[] body, byte[] name) {
    return body.length >= name.length && Arrays.equals(body, 0, name.length, name, 0, name.length);
  }
}
