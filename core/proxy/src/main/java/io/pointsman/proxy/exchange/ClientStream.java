package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;

/**
 * The current request of a client connection, from its head to the end of its answer. All calls
 * come on the connection's event loop.
 */
interface ClientStream {
  /** Starts the request after its head was read. */
  void begin();

  /** Passes a part of the request's body, with its ownership. */
  void content(ByteBuf part);

  /** Reports the end of the request's body. */
  void contentEnd();

  /** Reports a malformed request body. Nothing follows. */
  void contentBroken();

  /** Reports that all received bytes were passed. */
  void contentPause();

  /** True if the complete request was received. */
  boolean received();

  /** Reports that the client has closed its connection. */
  void clientGone();

  /** Reports that the client accepts bytes again, or should get none for the present. */
  void clientWritable(boolean writable);

  /** Reports that the client sends nothing more after a switch to another protocol. */
  default void clientEnds() {}

  /** Ends the request if a timeout has expired. */
  void checkTimeouts(long now);

  /** Ends the request because the server stops, as orderly as possible. */
  void cut();
}
