package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.EventTail;

/** Relay of one answer to the client. Belongs to the event loop. */
public sealed interface Relay permits FramedRelay, TunnelRelay {
  /** Result of {@link #relay}. */
  enum Progress {
    MORE,
    DONE,
    MALFORMED
  }

  /** True if the client's connection closes after the answer. */
  boolean closesAfter();

  /** True if the worker sent more than its answer. */
  boolean surplus();

  /** True if the answer is an event stream. */
  boolean events();

  /** Number of bytes written to the client. */
  long bytesOut();

  /** True if the answer has no body. */
  boolean empty();

  /** Relays bytes of the body. Their ownership passes to this method. */
  Progress relay(ByteBuf in);

  /** Sends the head, unless it was already sent. */
  void sendHead();

  /** Reports the end of the worker's connection. Returns true if it completes the answer. */
  boolean endOfConnection();

  /** Sends a comment if the stream is between two events. */
  void keepAlive();

  /**
   * Ends the answer early. An event stream gets an error event and a proper end; a partial event or
   * chunk is closed first. Any other answer cannot be ended; the caller must break the connection.
   *
   * @return true if the answer ended properly
   */
  boolean endWithError(ProxyError error);

  /** The last bytes of the events of an event stream. */
  EventTail tail();

  /**
   * Ends an event stream that is complete, although its framing is not.
   *
   * @return false if the stream is not between two events; the answer is then unchanged
   */
  boolean endAfterEvent();

  /** True if only a reset shows the client that the answer is incomplete. */
  boolean breakNeedsReset();

  /** Releases unsent bytes. */
  void release();
}
