package io.pointsman.proxy.upstream;

import io.netty.buffer.ByteBuf;

/**
 * Who a connection to a worker works for at the moment. All calls come on the connection's event
 * loop; none comes before {@link UpstreamPool#connect} has returned, none after the connection was
 * given back or aborted.
 */
public interface UpstreamUser {
  /** The connection is ready to be written to. */
  void connected(UpstreamConnection connection);

  /** There will be no connection. */
  void connectFailed(Throwable cause);

  /** Bytes came; the receiver owns {@code bytes}. */
  void received(ByteBuf bytes);

  /** No more bytes for now: the time to flush what was made of them. */
  void receivedAll();

  /**
   * The connection is gone.
   *
   * @param orderly whether the worker closed it; false if it was reset or failed
   */
  void disconnected(boolean orderly);

  /** The connection takes bytes again, or should get no more for now. */
  void writable(boolean writable);

  /**
   * One of the other calls threw what it should not have. Unless the connection was given back or
   * aborted meanwhile, it is aborted behind this call.
   */
  void defective(Throwable defect);
}
