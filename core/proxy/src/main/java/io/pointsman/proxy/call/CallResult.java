package io.pointsman.proxy.call;

import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.telemetry.RetryReason;

/** The end of a {@link WorkerCall} that its subclass did not end itself. */
public sealed interface CallResult {
  /**
   * A complete answer that was buffered.
   *
   * @param answer ownership passes to the receiver, which settles the lease
   */
  record Buffered(BufferedResponse answer) implements CallResult {}

  /**
   * The end of the connection within the body. The receiver ends the call and settles the lease.
   *
   * @param orderly true if the worker closed it; false after a reset or a failure
   */
  record CutOff(boolean orderly) implements CallResult {}

  /** No answer. The lease is settled and all buffers are released. */
  record Failed(RetryReason reason, ProxyError error) implements CallResult {}
}
