package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.wire.RequestHead;
import org.jspecify.annotations.Nullable;

/** A switch of a client's connection to another protocol, which its first request may ask for. */
public interface ProtocolSwitch {
  /** True if the request asks for the switch, and it is possible. */
  boolean asks(RequestHead head);

  /**
   * Switches the connection, and removes its handlers of HTTP/1.1.
   *
   * @param ahead bytes after the request, with their ownership; null if there are none
   */
  void take(LoopState state, Channel channel, RequestHead head, @Nullable ByteBuf ahead);
}
