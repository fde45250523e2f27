package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.reply.ProxyError;

/** Passes one answer on to the client. Belongs to the event loop. */
public sealed interface Relay permits FramedRelay {
  /** What became of the bytes. */
  enum Progress {
    MORE,
    DONE,
    MALFORMED
  }

  /** Whether the client's connection ends with the answer. */
  boolean closesAfter();

  /** Whether the worker sent more than its answer. */
  boolean surplus();

  /** Whether the answer is a stream of events. */
  boolean events();

  /** Bytes written to the client so far. */
  long bytesOut();

  /** Whether the answer is complete without a body. */
  boolean empty();

  /** Passes bytes of the body on; takes over their ownership. */
  Progress relay(ByteBuf in);

  /** Sends the head, if it has not gone with a part of the body yet. */
  void sendHead();

  /** The worker's connection has ended; whether the answer is complete by that. */
  boolean endOfConnection();

  /** Puts a comment between two events, if that is where the stream stands. */
  void keepAlive();

  /**
   * Ends the answer early: a stream of events with an error event and a proper end; an event or a
   * chunk that was cut off is closed first. Anything else not at all, so that the connection has to
   * be broken.
   *
   * @return whether it ended properly
   */
  boolean endWithError(ProxyError error);

  /** Whether the client must see a reset to know that the answer is not whole. */
  boolean breakNeedsReset();

  /** Lets go of what was never sent. */
  void release();
}
