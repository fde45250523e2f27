package io.pointsman.proxy.upstream;

import io.netty.channel.Channel;
import io.netty.channel.unix.UnixChannel;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.NotYetConnectedException;

/**
 * Finds bytes that a connection has received and its event loop has not read yet. Belongs to the
 * event loop.
 */
final class EarlyBytes {
  private final ByteBuffer one = ByteBuffer.allocateDirect(1);

  /**
   * True if there are unread bytes, or the worker has closed the connection. A byte is lost then,
   * so the connection must be closed.
   *
   * <p>After the event loop has seen a reset, the connection is no longer connected.
   */
  boolean in(Channel channel) {
    if (!channel.isOpen()) {
      // Its descriptor may already be that of another socket, and a read of that one could block.
      return false;
    }
    try {
      return read(channel) != 0;
    } catch (IOException | NotYetConnectedException _) {
      return true;
    }
  }

  /** Sockets of all transports are non-blocking. Returns 0 if there is nothing to read. */
  private int read(Channel channel) throws IOException {
    one.clear();
    return switch (channel) {
      case UnixChannel unix -> unix.fd().read(one, 0, 1);
      case NioUpstreamChannel nio -> nio.read(one);
      default -> 0;
    };
  }
}
