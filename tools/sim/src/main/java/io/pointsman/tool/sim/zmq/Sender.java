package io.pointsman.tool.sim.zmq;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * Sends messages of one frame by ZMTP 3.0 (ZeroMQ's wire protocol, rfc.zeromq.org/spec/23) without
 * security. Connects again after a failure. Used by one thread.
 */
public final class Sender implements AutoCloseable {
  private static final int TIMEOUT_MILLIS = 5_000;

  private final String address;
  private final String kind;
  private Socket socket = new Socket();
  private boolean ready;

  /**
   * Connects with the first message.
   *
   * @param address host:port of the receiving socket
   * @param kind type of this socket, {@code PUSH} or {@code DEALER}
   */
  public Sender(String address, String kind) {
    this.address = address;
    this.kind = kind;
  }

  /**
   * Sends one frame.
   *
   * @param more true if other frames of the same message follow
   * @throws IOException if it could not be sent; the next one is sent on a new connection
   */
  public void send(byte[] frame, boolean more) throws IOException {
    try {
      if (!ready) {
        connect();
      }
      socket.getOutputStream().write(SimZmtp.frame(more ? SimZmtp.MORE : 0, frame));
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
    socket.getOutputStream().write(SimZmtp.greeting());
    DataInputStream in = new DataInputStream(socket.getInputStream());
    in.skipNBytes(SimZmtp.GREETING);
    socket.getOutputStream().write(SimZmtp.ready(kind));
    int flags = in.readUnsignedByte();
    if (flags != SimZmtp.COMMAND) {
      throw new IOException("not ready (expected: the command READY)");
    }
    in.skipNBytes(in.readUnsignedByte());
    ready = true;
  }

  /** Closes the connection; a later message connects again. */
  @Override
  public void close() {
    ready = false;
    try {
      socket.close();
    } catch (IOException _) {
      // It is closed in any case.
    }
  }
}
