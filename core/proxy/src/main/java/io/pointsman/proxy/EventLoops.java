package io.pointsman.proxy;

import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The event loops and their kind of sockets. */
record EventLoops(Sockets sockets, EventLoopGroup loops) {
  private static final Logger LOG = LoggerFactory.getLogger(EventLoops.class);

  /**
   * Starts event loops with a transport.
   *
   * @param ofRings changes how loops with io_uring wait
   * @throws IllegalArgumentException if the transport is unavailable
   */
  static EventLoops start(Transport transport, int count, UnaryOperator<IoHandlerFactory> ofRings) {
    Sockets sockets = Sockets.of(transport);
    return transport == Transport.AUTO && sockets.transport() == Transport.IO_URING
        ? byRingsIfPossible(sockets, count, ofRings)
        : new EventLoops(sockets, loops(sockets, count, ofRings));
  }

  /**
   * Uses another transport if io_uring cannot create a ring, for example because memory is short.
   */
  static EventLoops byRingsIfPossible(
      Sockets rings, int count, UnaryOperator<IoHandlerFactory> ofRings) {
    try {
      return new EventLoops(rings, loops(rings, count, ofRings));
    } catch (RuntimeException e) {
      Sockets others = Sockets.of(Sockets.withoutRings());
      LOG.warn("transport {} is not available, using {}", rings.transport(), others.transport(), e);
      return new EventLoops(others, loops(others, count, ofRings));
    }
  }

  private static EventLoopGroup loops(
      Sockets sockets, int count, UnaryOperator<IoHandlerFactory> ofRings) {
    IoHandlerFactory waiting =
        sockets.transport() == Transport.IO_URING
            ? ofRings.apply(sockets.waiting())
            : sockets.waiting();
    return new MultiThreadIoEventLoopGroup(
        count, new DefaultThreadFactory("pointsman-proxy"), waiting);
  }
}
