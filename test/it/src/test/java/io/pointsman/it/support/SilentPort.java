package io.pointsman.it.support;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A port that neither accepts nor refuses connections, like that of a host without power: its
 * backlog is full.
 */
public final class SilentPort implements AutoCloseable {
  private static final int MILLIS = 200;
  private static final int MOST_WAITING = 64;

  private final ServerSocket listener;
  private final Deque<Socket> waiting = new ArrayDeque<>();

  private SilentPort(ServerSocket listener) {
    this.listener = listener;
  }

  /**
   * Waits until the port is free, and then occupies it.
   *
   * @throws IOException if a further connection still succeeds
   */
  public static SilentPort at(int port) throws IOException {
    ServerSocket listener = new ServerSocket();
    WaitFor.until("port " + port + " is free", WaitFor.LONG, () -> bound(listener, port));
    SilentPort silent = new SilentPort(listener);
    silent.fill();
    return silent;
  }

  private static boolean bound(ServerSocket listener, int port) {
    try {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private void fill() throws IOException {
    while (waiting.size() < MOST_WAITING) {
      Socket socket = new Socket();
      waiting.push(socket);
      try {
        socket.connect(
            new InetSocketAddress(listener.getInetAddress(), listener.getLocalPort()), MILLIS);
      } catch (SocketTimeoutException e) {
        return;
      }
    }
    throw new IOException("port " + listener.getLocalPort() + " accepts connections");
  }

  @Override
  public void close() throws IOException {
    for (Socket socket : waiting) {
      socket.close();
    }
    listener.close();
  }
}
