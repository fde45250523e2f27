package io.pointsman.control.kvevents;

import io.pointsman.control.zmtp.ZmtpConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;

/** A replay socket that ignores the requested number: it sends all it has, and no end. */
final class EndlessReplay implements AutoCloseable {
  private final ServerSocket server;
  private final List<byte[]> payloads;

  EndlessReplay(List<byte[]> payloads) {
    this.payloads = List.copyOf(payloads);
    try {
      server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Thread.ofVirtual().start(this::accept);
  }

  int port() {
    return server.getLocalPort();
  }

  private void accept() {
    while (!server.isClosed()) {
      try (Socket socket = server.accept()) {
        serve(new ZmtpConnection(socket, new ZmtpConnection.Limits(1 << 20, 8, true), 1024));
      } catch (IOException _) {
        // The router has left, or the socket is closed.
      }
    }
  }

  private void serve(ZmtpConnection connection) throws IOException {
    connection.begin("ROUTER", "DEALER");
    while (true) {
      connection.next();
      for (int i = 0; i < payloads.size(); i++) {
        byte[] number = ByteBuffer.allocate(Long.BYTES).putLong(i).array();
        connection.send(List.of(new byte[0], number, payloads.get(i)));
      }
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
