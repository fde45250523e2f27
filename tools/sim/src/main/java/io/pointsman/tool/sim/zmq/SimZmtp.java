package io.pointsman.tool.sim.zmq;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Frames of ZMTP 3.0 (ZeroMQ's wire protocol, rfc.zeromq.org/spec/23) without security. */
final class SimZmtp {
  static final int GREETING = 64;
  static final int MORE = 1;
  static final int LONG = 2;
  static final int COMMAND = 4;
  private static final int SHORT_LENGTH = 255;
  private static final int MOST_BYTES = 1 << 20;

  private SimZmtp() {}

  static byte[] greeting() {
    byte[] greeting = new byte[GREETING];
    greeting[0] = (byte) 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    System.arraycopy("NULL".getBytes(US_ASCII), 0, greeting, 12, 4);
    return greeting;
  }

  /** The frame that contains the type of the socket. */
  static byte[] ready(String kind) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes("\5READY\13Socket-Type".getBytes(US_ASCII));
    body.writeBytes(new byte[] {0, 0, 0, (byte) kind.length()});
    body.writeBytes(kind.getBytes(US_ASCII));
    return frame(COMMAND, body.toByteArray());
  }

  static byte[] frame(int flags, byte[] body) {
    boolean small = body.length <= SHORT_LENGTH;
    ByteBuffer frame = ByteBuffer.allocate(body.length + (small ? 2 : 9));
    if (small) {
      frame.put((byte) flags).put((byte) body.length);
    } else {
      frame.put((byte) (flags | LONG)).putLong(body.length);
    }
    return frame.put(body).array();
  }

  static byte[] message(byte[]... frames) {
    ByteArrayOutputStream message = new ByteArrayOutputStream();
    for (int i = 0; i < frames.length; i++) {
      message.writeBytes(frame(i < frames.length - 1 ? MORE : 0, frames[i]));
    }
    return message.toByteArray();
  }

  /** Reads the frames of the next message; skips commands. */
  static List<byte[]> next(DataInputStream in) throws IOException {
    List<byte[]> frames = new ArrayList<>();
    while (true) {
      int flags = in.readUnsignedByte();
      long length = (flags & LONG) == 0 ? in.readUnsignedByte() : in.readLong();
      if (length < 0 || length > MOST_BYTES) {
        throw new IOException("a frame of " + length + " bytes");
      }
      byte[] body = new byte[(int) length];
      in.readFully(body);
      if ((flags & COMMAND) == 0) {
        frames.add(body);
        if ((flags & MORE) == 0) {
          return frames;
        }
      }
    }
  }
}
