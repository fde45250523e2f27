package io.pointsman.proxy.handler;

import io.netty.buffer.ByteBuf;

/**
 * Filter that changes the body of an answer on its way to the client. Belongs to the event loop.
 */
public interface BodyRewrite {
  /**
   * Accepts the next bytes of the body, without framing. Their ownership passes to this method.
   *
   * @return bytes for the client, possibly none; the caller owns them
   */
  ByteBuf take(ByteBuf data);

  /** Ends the body and returns its rest. The caller owns the bytes. */
  ByteBuf end();

  /** True if bytes can pass before the body is complete. */
  boolean streams();

  /** True if the bytes returned up to this call end between two events of a stream. */
  boolean betweenEvents();

  /** Releases all buffers. */
  void release();
}
