package io.pointsman.tool.sim.zmq;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A ZeroMQ socket with any number of peers, which is bound, or connects to one peer. Each peer has
 * two virtual threads and its own queue; messages beyond the queue of a slow peer are dropped.
 */
final class BoundSocket implements AutoCloseable {
  private static final int QUEUED = 100_000;
  private static final int HANDSHAKE_MILLIS = 10_000;
  private static final int SUBSCRIBE = 1;
  private static final long REDIAL_NANOS = 100_000_000L;

  private final String kind;
  private final Asked asked;
  private final ServerSocket server;
  private final Thread acceptor;
  private final Set<PeerConnection> peers = ConcurrentHashMap.newKeySet();

  /** Receives the peers' messages. */
  @FunctionalInterface
  interface Asked {
    void message(PeerConnection peer, List<byte[]> frames) throws InterruptedException;
  }

  /** One connection. */
  static final class PeerConnection {
    private final Socket socket;
    private final BlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(QUEUED);
    private volatile byte @Nullable [] topic;

    private PeerConnection(Socket socket) {
      this.socket = socket;
    }

    /** Sends a message, or drops it. */
    void offer(byte[] message) {
      queue.offer(message);
    }

    /** Sends a message, waiting for room in the queue. */
    void put(byte[] message) throws InterruptedException {
      queue.put(message);
    }

    private void write() {
      try (socket) {
        while (true) {
          socket.getOutputStream().write(queue.take());
        }
      } catch (IOException _) {
        // The peer has left.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Binds the socket.
   *
   * @param kind {@code PUB} or {@code ROUTER}
   * @param port 0: any free one
   * @throws UncheckedIOException if the port is not available
   */
  BoundSocket(String kind, String host, int port, Asked asked) {
    this(kind, host, port, asked, null);
    acceptor.start();
  }

  /** Connects to {@code remote}, again and again until it is closed. */
  static BoundSocket connecting(String kind, InetSocketAddress remote, Asked asked) {
    BoundSocket socket = new BoundSocket(kind, "127.0.0.1", 0, asked, remote);
    socket.acceptor.start();
    return socket;
  }

  private BoundSocket(
      String kind, String host, int port, Asked asked, @Nullable InetSocketAddress remote) {
    this.kind = kind;
    this.asked = asked;
    try {
      server = new ServerSocket();
      server.setReuseAddress(true);
      server.bind(new InetSocketAddress(host, port));
    } catch (IOException e) {
      throw new UncheckedIOException(host + ":" + port + ": " + e.getMessage(), e);
    }
    Runnable work = remote == null ? this::accept : () -> dial(remote);
    acceptor = Thread.ofVirtual().name("sim-" + kind).unstarted(work);
  }

  int port() {
    return server.getLocalPort();
  }

  private void dial(InetSocketAddress to) {
    while (!server.isClosed()) {
      try {
        Socket socket = new Socket(to.getHostString(), to.getPort());
        PeerConnection peer = new PeerConnection(socket);
        peers.add(peer);
        if (server.isClosed()) {
          hangUp(peer);
        }
        serve(peer);
      } catch (IOException _) {
        // Nobody listens yet.
      }
      LockSupport.parkNanos(REDIAL_NANOS);
    }
  }

  private void accept() {
    try {
      while (true) {
        PeerConnection peer = new PeerConnection(server.accept());
        peers.add(peer);
        Thread.ofVirtual().name("sim-" + kind + "-peer").start(() -> serve(peer));
        if (server.isClosed()) {
          hangUp(peer);
        }
      }
    } catch (IOException _) {
      // The socket is closed.
    }
  }

  private void serve(PeerConnection peer) {
    Thread writer = Thread.ofVirtual().unstarted(peer::write);
    try (Socket socket = peer.socket) {
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(HANDSHAKE_MILLIS);
      DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      socket.getOutputStream().write(SimZmtp.greeting());
      in.skipNBytes(SimZmtp.GREETING);
      socket.getOutputStream().write(SimZmtp.ready(kind));
      in.skipNBytes(1);
      in.skipNBytes(in.readUnsignedByte());
      socket.setSoTimeout(0);
      writer.start();
      while (true) {
        asked.message(peer, SimZmtp.next(in));
      }
    } catch (IOException _) {
      // The peer has left.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      peers.remove(peer);
      writer.interrupt();
    }
  }

  /** Records the subscription of a PUB socket's peer. */
  static void subscribe(PeerConnection peer, List<byte[]> frames) {
    byte[] body = frames.getFirst();
    if (body.length > 0 && body[0] == SUBSCRIBE) {
      peer.topic = Arrays.copyOfRange(body, 1, body.length);
    }
  }

  /** Sends a message to all subscribers of {@code topic}. */
  void publish(byte[] topic, byte[] message) {
    for (PeerConnection peer : peers) {
      byte[] wanted = peer.topic;
      if (wanted != null && startsWith(topic, wanted)) {
        peer.offer(message);
      }
    }
  }

  private static boolean startsWith(byte[] topic, byte[] prefix) {
    return Arrays.mismatch(topic, prefix) == prefix.length || Arrays.equals(topic, prefix);
  }

  /** Number of subscribers. */
  int subscribers() {
    return (int) peers.stream().filter(peer -> peer.topic != null).count();
  }

  /** Ends all connections; new ones are accepted. */
  void hangUp() {
    peers.forEach(BoundSocket::hangUp);
  }

  private static void hangUp(PeerConnection peer) {
    try {
      peer.socket.close();
    } catch (IOException _) {
      // It is closed in any case.
    }
  }

  @Override
  public void close() {
    try {
      server.close();
    } catch (IOException _) {
      // It is closed in any case.
    }
    hangUp();
    // The address is free only after the accepting thread has ended.
    Threads.join(acceptor);
  }
}
