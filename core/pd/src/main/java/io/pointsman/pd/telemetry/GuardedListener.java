package io.pointsman.pd.telemetry;

import io.pointsman.pd.plan.Unsplittable;
import io.pointsman.pd.rule.SplitRule;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listener that catches and logs the exceptions of another one. Otherwise an exception would leave
 * leases unsettled.
 */
public record GuardedListener(SplitListener listener) implements SplitListener {
  private static final Logger LOG = LoggerFactory.getLogger(GuardedListener.class);

  @Override
  public void decided(SplitRule rule, @Nullable Unsplittable why) {
    try {
      listener.decided(rule, why);
    } catch (RuntimeException e) {
      threw(e);
    }
  }

  @Override
  public void stage(Stage stage, long nanos) {
    try {
      listener.stage(stage, nanos);
    } catch (RuntimeException e) {
      threw(e);
    }
  }

  @Override
  public void prefill(PrefillEnd end) {
    try {
      listener.prefill(end);
    } catch (RuntimeException e) {
      threw(e);
    }
  }

  @Override
  public void handover(HandoverEnd end) {
    try {
      listener.handover(end);
    } catch (RuntimeException e) {
      threw(e);
    }
  }

  private static void threw(RuntimeException e) {
    LOG.error("a listener failed", e);
  }
}
