package io.pointsman.proxy;

import io.netty.channel.Channel;

/** A listening socket at another address. It accepts nothing before it is in use. */
@SuppressWarnings("FutureReturnValueIgnored") // the end of a close is awaited
public final class OpenedPort {
  private final ServerPort port;
  private final Channel channel;

  OpenedPort(ServerPort port, Channel channel) {
    this.port = port;
    this.channel = channel;
  }

  /** The bound port. */
  int number() {
    return ServerPort.number(channel);
  }

  /** Replaces the present listening socket. The old one closes; its connections go on. */
  public void use() {
    port.use(channel);
  }

  /** Closes it, because it does not come into use. */
  public void drop() {
    channel.close().awaitUninterruptibly();
  }
}
