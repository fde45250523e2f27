package io.pointsman.pd.execution.step;

import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.pd.telemetry.SplitListener;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;

/** Owner of a prefill that no request needs. It settles the lease and reports the end. */
public record Settling(SplitListener listener) implements SideLeg.Owner {
  @Override
  public void answered(SideLeg leg, byte[] body) {
    leg.lease().succeeded();
    listener.prefill(PrefillEnd.DONE);
  }

  @Override
  public void refused(SideLeg leg, HeldAnswer error) {
    try {
      PrefillRetries.settle(listener, leg, error);
    } finally {
      error.release();
    }
  }

  @Override
  public void failed(SideLeg leg, RetryReason reason, ProxyError error) {
    listener.prefill(PrefillRetries.end(reason));
  }
}
