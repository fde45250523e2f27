package io.pointsman.proxy.upstream;

import io.netty.buffer.ByteBuf;

/**
 * The present user of a connection to a worker. All calls come on the connection's event loop. No
 * call comes after the connection was released or aborted.
 */
public interface UpstreamUser {
  /** Reports an open connection. */
  void connected(UpstreamConnection connection);

  /** Reports that the connection could not be opened. */
  void connectFailed(Throwable cause);

  /** Passes received bytes, with their ownership. */
  void received(ByteBuf bytes);

  /** Reports that no more bytes are available. Buffered output should be flushed. */
  void receivedAll();

  /**
   * Reports the end of the connection.
   *
   * @param orderly true if the worker closed it; false after a reset or a failure
   */
  void disconnected(boolean orderly);

  /** Reports that the connection accepts bytes again, or should get none for the present. */
  void writable(boolean writable);

  /**
   * Reports that one of the other calls threw an exception. Afterwards the connection is aborted,
   * unless it was released or aborted.
   */
  void defective(Throwable defect);
}
