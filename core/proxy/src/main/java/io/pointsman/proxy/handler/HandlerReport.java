package io.pointsman.proxy.handler;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import org.jspecify.annotations.Nullable;

/** Receiver of the events of requests to workers that are not attempts. */
public interface HandlerReport {
  /** Trace of a request to a worker that is not an attempt; null if there is no trace. */
  @Nullable SideTrace sideTrace(Worker worker, SideTrace.Purpose purpose, long now);

  /** Reports a prefill that took {@code nanos}, before the request goes to a decode worker. */
  void prefilled(long nanos);

  /** Records that a request to a worker that is not an attempt failed and is retried. */
  void retried(RetryReason reason);
}
