package io.pointsman.proxy.exchange;

import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.telemetry.RetryReason;

/** The end of an attempt. An attempt reports one result, unless the exchange cancels it. */
sealed interface AttemptResult {
  /** Receiver of the result. */
  interface Owner {
    void ended(Attempt attempt, AttemptResult result);
  }

  /** The client got the complete answer. The lease is settled. */
  record Answered(int status, Relay relay) implements AttemptResult {}

  /**
   * The worker answered with an error, which the client has not seen. The lease is settled.
   *
   * @param error ownership passes to the receiver
   */
  record Refused(BufferedResponse error) implements AttemptResult {}

  /** There is no answer, and the client has no byte of one. The lease is settled. */
  record Unanswered(RetryReason reason, ProxyError error) implements AttemptResult {}

  /** The answer broke off, and the client has a part of it. The lease is settled. */
  record BrokenOff(Relay relay, ProxyError error) implements AttemptResult {}

  /** The client does not read the answer. The receiver cancels the attempt. */
  record ClientStalled() implements AttemptResult {}

  /** An unexpected exception. The receiver cancels the attempt. */
  record Defective(Throwable defect) implements AttemptResult {}
}
