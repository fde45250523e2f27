package io.pointsman.pd.execution.step;

import io.pointsman.pd.telemetry.SplitListener;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.telemetry.RetryReason;

/** Owner of a prefill that no request needs. It settles the lease and reports the end. */
public record UnusedPrefill(SplitListener listener) implements PrefillRequest.Owner {
  @Override
  public void answered(PrefillRequest step, byte[] body) {
    step.lease().succeeded();
    listener.prefill(PrefillEnd.DONE);
  }

  @Override
  public void refused(PrefillRequest step, BufferedResponse error) {
    try {
      PrefillRetries.settle(listener, step, error);
    } finally {
      error.release();
    }
  }

  @Override
  public void failed(PrefillRequest step, RetryReason reason, ProxyError error) {
    listener.prefill(PrefillRetries.end(reason));
  }
}
