package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;

/**
 * What a client connection is busy with: one request, from its head to the end of its answer. All
 * calls come on the connection's event loop.
 */
interface Conversation {
  /** The head has been read. */
  void begin();

  /** A part of the request's body; the receiver owns it. */
  void content(ByteBuf part);

  /** The request's body is complete. */
  void contentEnd();

  /** The request's body turned out to be malformed; nothing more comes. */
  void contentBroken();

  /** The client has sent what it had to send for now. */
  void contentPause();

  /** Whether the whole request has been received. */
  boolean received();

  /** The client is gone. */
  void clientGone();

  /** The client takes bytes again, or should get no more for now. */
  void clientWritable(boolean writable);

  /** Looks whether anything has taken too long. */
  void checkTimeouts(long now);

  /** The server stops: end at once, as orderly as can be. */
  void cut();
}
