package io.pointsman.proxy;

import io.netty.channel.IoHandler;
import java.util.function.IntSupplier;

/** Changes how an event loop with io_uring waits for its sockets. */
@FunctionalInterface
public interface LoopWaiting {
  /** Waits as Netty does. */
  LoopWaiting PLAIN = (sockets, _) -> sockets;

  /**
   * Wraps the handler of one event loop.
   *
   * @param sockets handler that waits for the sockets
   * @param running number of requests in progress on this loop
   */
  IoHandler around(IoHandler sockets, IntSupplier running);
}
