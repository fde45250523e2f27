package io.pointsman.control.peers;

import io.pointsman.control.health.Rounds;
import io.pointsman.control.zmtp.ZmtpConnection;
import io.pointsman.engine.env.BindProblem;
import io.pointsman.engine.env.Ticker;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A bound ZeroMQ socket that only receives. Each connection has a virtual thread; messages are
 * delivered one at a time over all connections. A connection that violates the protocol is closed;
 * others continue. The number of connections is limited, and TCP slows senders down while messages
 * are processed.
 */
final class ZmqListener implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(ZmqListener.class);
  private static final Duration LOOK = Duration.ofMillis(100);
  private static final Duration PATIENCE = Duration.ofSeconds(5);
  private static final int BACKLOG = 256;

  /** Maximum number of connections; further ones are closed. */
  static final int MOST_CONNECTIONS = 4096;

  private static final ZmtpConnection.Limits LIMITS =
      new ZmtpConnection.Limits(64 << 10, 64, false);

  private static final int BUFFER = 2048;

  /** Receives messages; one call at a time, on any thread. */
  interface Sink {
    /**
     * @param frames at least one, without the sender's identity
     */
    void message(List<byte[]> frames);

    /** Called about ten times per second. */
    void look();
  }

  private final String name;
  private final String kind;
  private final ServerSocket server;
  private final Sink sink;
  private final Complaints complaints;
  private final ReentrantLock turn = new ReentrantLock();
  private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
  private final Rounds looks;
  private final Thread acceptor;
  private final CountDownLatch closing = new CountDownLatch(1);

  private ZmqListener(
      String name, String kind, ServerSocket server, Sink sink, Complaints complaints) {
    this.name = name;
    this.kind = kind;
    this.server = server;
    this.sink = sink;
    this.complaints = complaints;
    looks = Rounds.start(name, LOOK, () -> inTurn(sink::look));
    acceptor = Thread.ofVirtual().name(name).unstarted(this::accept);
    acceptor.start();
  }

  /**
   * Binds the socket and starts receiving.
   *
   * @param name name of the messages, for the log
   * @param kind type of the socket, {@code ROUTER} or {@code PULL}
   * @param address {@code host:port}; port 0: any free port; host {@code *}: all addresses
   * @throws IOException if the address cannot be bound
   */
  static ZmqListener open(String name, String kind, String address, Sink sink, Ticker ticker)
      throws IOException {
    ServerSocket server = new ServerSocket();
    try {
      server.setReuseAddress(true);
      server.bind(socketAddress(address), BACKLOG);
      return new ZmqListener(name, kind, server, sink, new Complaints(log, name, ticker));
    } catch (IOException e) {
      server.close();
      throw new IOException(BindProblem.of(name + ": " + address, e), e);
    }
  }

  private static InetSocketAddress socketAddress(String address) {
    int colon = address.lastIndexOf(':');
    String host = address.substring(0, colon).replaceAll("[\\[\\]]", "");
    int port = Integer.parseInt(address.substring(colon + 1));
    return host.equals("*") ? new InetSocketAddress(port) : new InetSocketAddress(host, port);
  }

  int port() {
    return server.getLocalPort();
  }

  private void accept() {
    while (!closed()) {
      try {
        Socket socket = server.accept();
        if (connections.size() >= MOST_CONNECTIONS) {
          socket.close();
          complain("more than " + MOST_CONNECTIONS + " connections");
        } else {
          connections.add(socket);
          Thread.ofVirtual().name(name + "-connection").start(() -> read(socket));
        }
      } catch (IOException e) {
        if (!closed()) {
          complain(e.toString());
          pause();
        }
      }
    }
  }

  /** Waits before the next attempt, because accepting fails repeatedly without free descriptors. */
  private void pause() {
    try {
      boolean _ = closing.await(LOOK.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean closed() {
    return closing.getCount() == 0;
  }

  private void read(Socket socket) {
    try (socket) {
      ZmtpConnection connection = new ZmtpConnection(socket, LIMITS, BUFFER);
      connection.begin(kind, null);
      socket.setKeepAlive(true);
      while (!closed()) {
        List<byte[]> frames = connection.next().frames();
        inTurn(() -> sink.message(frames));
      }
    } catch (EOFException _) {
      // The engine has disconnected.
    } catch (IOException e) {
      if (!closed()) {
        complain("a connection was closed: " + e.getMessage());
      }
    } finally {
      connections.remove(socket);
    }
  }

  private void inTurn(Runnable task) {
    turn.lock();
    try {
      task.run();
    } catch (RuntimeException e) {
      log.error("{}: cannot process a message", name, e);
    } finally {
      turn.unlock();
    }
  }

  private void complain(String why) {
    turn.lock();
    try {
      complaints.add(why);
    } finally {
      turn.unlock();
    }
  }

  /** Stops receiving and releases the address. */
  @Override
  public void close() {
    closing.countDown();
    looks.close();
    closeQuietly(server);
    connections.forEach(ZmqListener::closeQuietly);
    try {
      // The address is free once the acceptor has ended.
      acceptor.join(PATIENCE);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private static void closeQuietly(AutoCloseable socket) {
    try {
      socket.close();
    } catch (Exception e) {
      log.debug("not closed cleanly", e);
    }
  }
}
