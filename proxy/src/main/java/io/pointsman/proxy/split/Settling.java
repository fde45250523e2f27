package io.pointsman.proxy.split;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.split.SplitListener.PrefillEnd;
import io.pointsman.proxy.telemetry.RetryReason;

/** Settles the lease of a prefill that nobody waits for any more. */
record Settling(SplitListener listener) implements SideLeg.Owner {
  @Override
  public void answered(SideLeg leg, byte[] body) {
    leg.lease().succeeded();
    listener.prefill(PrefillEnd.DONE);
  }

  @Override
  public void refused(SideLeg leg, HeldAnswer error) {
    if (error.busy()) {
      leg.lease().ignored();
    } else if (error.workersFault()) {
      leg.lease().failed(Failure.ERROR);
    } else {
      leg.lease().refused();
    }
    error.release();
    listener.prefill(PrefillEnd.ERROR);
  }

  @Override
  public void failed(SideLeg leg, RetryReason reason, ProxyError error) {
    listener.prefill(PrefillEnd.ERROR);
  }
}
