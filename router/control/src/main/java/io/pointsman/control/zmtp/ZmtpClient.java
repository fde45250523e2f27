package io.pointsman.control.zmtp;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a bound ZeroMQ socket. Larger messages are skipped. Confined to one thread,
 * except {@link #close}.
 */
public final class ZmtpClient implements AutoCloseable {
  /** Type of this side's socket. */
  public enum Kind {
    /** Subscribes to a {@code PUB} or {@code XPUB} socket. */
    SUB("PUB"),
    /** Sends requests to a {@code ROUTER} socket. */
    DEALER("ROUTER");

    private final String other;

    Kind(String other) {
      this.other = other;
    }
  }

  /** Maximum number of frames in a message. */
  static final int MOST_FRAMES = 8;

  private static final int CONNECT_MILLIS = 5000;
  private static final int BUFFER = 16 << 10;
  private static final int QUIET_SECONDS = 30;
  private static final int PROBE_SECONDS = 10;

  private final Kind kind;
  private final ZmtpConnection.Limits limits;
  private final Socket socket = new Socket();
  private @Nullable ZmtpConnection connection;

  /**
   * Creates an unconnected client.
   *
   * @param mostBytes maximum message size, all frames together
   */
  public ZmtpClient(Kind kind, int mostBytes) {
    this.kind = kind;
    limits = new ZmtpConnection.Limits(mostBytes, MOST_FRAMES, true);
  }

  /**
   * Connects and performs the handshake. Call once.
   *
   * @throws IOException if the connection or the handshake fails
   */
  public void connect(InetSocketAddress address) throws IOException {
    socket.connect(address, CONNECT_MILLIS);
    socket.setTcpNoDelay(true);
    noticeDeadPeers();
    ZmtpConnection begun = new ZmtpConnection(socket, limits, BUFFER);
    begun.begin(kind.name(), kind.other);
    connection = begun;
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

  private ZmtpConnection connected() throws IOException {
    ZmtpConnection now = connection;
    if (now == null) {
      throw new IOException("not connected");
    }
    return now;
  }

  /** Subscribes to all messages with a first frame that begins with {@code topic}. */
  public void subscribe(byte[] topic) throws IOException {
    connected().subscribe(topic);
  }

  /** Sends one message. */
  public void send(List<byte[]> frames) throws IOException {
    connected().send(frames);
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
  public ZmtpConnection.Message next() throws IOException {
    return connected().next();
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
