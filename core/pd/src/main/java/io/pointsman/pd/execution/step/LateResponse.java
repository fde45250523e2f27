package io.pointsman.pd.execution.step;

import io.pointsman.pd.telemetry.SplitListener;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.telemetry.RetryReason;

/**
 * Owner of a prefill after its decode was cancelled during prefill's answer. It waits for the end
 * of the answer, because a cancellation would free nothing.
 *
 * @param body the client's body, retained for {@code free}
 * @param free starts the release of prefill's blocks after the answer
 */
public record LateResponse(SplitListener listener, KeptBody body, Runnable free)
    implements PrefillRequest.Owner {
  @Override
  public void answered(PrefillRequest step, byte[] answer) {
    step.lease().succeeded();
    listener.prefill(PrefillEnd.ABORTED);
    try {
      free.run();
    } finally {
      body.release();
    }
  }

  @Override
  public void refused(PrefillRequest step, BufferedResponse error) {
    body.release();
    new UnusedPrefill(listener).refused(step, error);
  }

  @Override
  public void failed(PrefillRequest step, RetryReason reason, ProxyError error) {
    body.release();
    new UnusedPrefill(listener).failed(step, reason, error);
  }
}
