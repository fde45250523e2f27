package io.pointsman.proxy.split.leg;

import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SplitListener;
import io.pointsman.proxy.telemetry.SplitListener.PrefillEnd;

/**
 * Waits for the rest of a prefill's answer that was under way when decode was given up: cancelling
 * would free nothing.
 *
 * @param body the client's, retained for {@code free}
 * @param free has what prefill holds freed once it has answered
 */
public record LateAnswer(SplitListener listener, KeptBody body, Runnable free)
    implements SideLeg.Owner {
  @Override
  public void answered(SideLeg leg, byte[] answer) {
    leg.lease().succeeded();
    listener.prefill(PrefillEnd.ABORTED);
    try {
      free.run();
    } finally {
      body.release();
    }
  }

  @Override
  public void refused(SideLeg leg, HeldAnswer error) {
    body.release();
    new Settling(listener).refused(leg, error);
  }

  @Override
  public void failed(SideLeg leg, RetryReason reason, ProxyError error) {
    body.release();
    new Settling(listener).failed(leg, reason, error);
  }
}
