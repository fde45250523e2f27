package io.pointsman.sim.zmq;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * Sends messages of one frame by ZMTP 3.0 (ZeroMQ's wire protocol, rfc.zeromq.org/spec/23) without
 * security, connecting anew after a failure. Used by one thread.
 */
public final class Sender implements AutoCloseable {
  private static final int TIMEOUT_MILLIS = 5_000;
  private static final int GREETING = 64;
  private static final int MORE = 1;
  private static final int LONG = 2;
  private static final int COMMAND = 4;
  private static final int SHORT_LENGTH = 255;

  private final String address;
  private final String kind;
  private Socket socket = new Socket();
  private boolean ready;

  /**
   * Connects with the first message.
   *
   * @param address host:port of the receiving socket
   * @param kind what this socket is, {@code PUSH} or {@code DEALER}
   */
  public Sender(String address, String kind) {
    this.address = address;
    this.kind = kind;
  }

  /**
   * Sends one frame.
   *
   * @param more whether other frames of the same message follow
   * @throws IOException if it could not be sent; the next one is sent on a new connection
   */
  public void send(byte[] frame, boolean more) throws IOException {
    try {
      if (!ready) {
        connect();
      }
      write(more ? MORE : 0, frame);
    } catch (IOException e) {
      close();
      throw e;
    }
  }

  private void connect() throws IOException {
    socket = new Socket();
    int colon = address.lastIndexOf(':');
    InetAddress host = InetAddress.getByName(address.substring(0, colon));
    int port = Integer.parseInt(address.substring(colon + 1));
    socket.connect(new InetSocketAddress(host, port), TIMEOUT_MILLIS);
    socket.setSoTimeout(TIMEOUT_MILLIS);
    socket.setTcpNoDelay(true);
    byte[] greeting = new byte[GREETING];
    greeting[0] = (byte) 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    System.arraycopy("NULL".getBytes(US_ASCII), 0, greeting, 12, 4);
    socket.getOutputStream().write(greeting);
    DataInputStream in = new DataInputStream(socket.getInputStream());
    in.skipNBytes(GREETING);
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.writeBytes("\5READY\13Socket-Type".getBytes(US_ASCII));
    body.writeBytes(new byte[] {0, 0, 0, (byte) kind.length()});
    body.writeBytes(kind.getBytes(US_ASCII));
    write(COMMAND, body.toByteArray());
    int flags = in.readUnsignedByte();
    if (flags != COMMAND) {
      throw new IOException("not ready (expected: the command READY)");
    }
    in.skipNBytes(in.readUnsignedByte());
    ready = true;
  }

  private void write(int flags, byte[] frame) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(frame.length + 9);
    boolean small = frame.length <= SHORT_LENGTH;
    bytes.write(small ? flags : flags | LONG);
    for (int shift = small ? 0 : 56; shift >= 0; shift -= 8) {
      bytes.write((int) ((long) frame.length >>> shift));
    }
    bytes.writeBytes(frame);
    socket.getOutputStream().write(bytes.toByteArray());
  }

  /** Hangs up; a later message connects again. */
  @Override
  public void close() {
    ready = false;
    try {
      socket.close();
    } catch (IOException _) {
      // It is gone all the same.
    }
  }
}
