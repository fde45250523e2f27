package io.pointsman.proxy.strategy;

import io.netty.util.concurrent.EventExecutor;
import io.pointsman.engine.Decision;
import io.pointsman.engine.deferral.Deferral;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.telemetry.RequestEvent.DeferralEnded;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Decision on one request, made immediately or deferred while all workers are full. Belongs to the
 * client's event loop, except {@link #decided} and {@link #failed}.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a wake-up cannot fail and is never cancelled
final class DeferredRequest implements Deferral.Waiter {
  /** Receiver of a deferred decision. */
  interface Holder {
    void deferralDecided(Decision decision);

    void deferralFailed(RuntimeException fault);
  }

  private final LoopState state;
  private final Holder holder;
  private final RoutingRequest request;
  private final Deferral deferral;
  private boolean waiting;
  private long deferredAt;

  DeferredRequest(LoopState state, Holder holder, RoutingRequest request) {
    this.state = state;
    this.holder = holder;
    this.request = request;
    deferral = state.server().live().deferral();
  }

  /** Returns the decision; null if it is deferred. The holder then gets it later. */
  @Nullable Decision decide() {
    deferredAt = state.now();
    Decision decision = deferral.decide(this);
    if (decision == null) {
      waiting = true;
      wakeLater(state.loop(), deferral);
    }
    return decision;
  }

  /**
   * A caller keeps its wake-up even if its client leaves, because the wake-up serves all deferred
   * requests.
   */
  private static void wakeLater(EventExecutor loop, Deferral deferral) {
    long nanos = deferral.wakeAfterNanos();
    if (nanos != Deferral.NO_WAKE) {
      loop.schedule(() -> wake(loop, deferral), nanos, TimeUnit.NANOSECONDS);
    }
  }

  private static void wake(EventExecutor loop, Deferral deferral) {
    try {
      deferral.wake();
    } finally {
      wakeLater(loop, deferral);
    }
  }

  @Override
  public RoutingRequest request() {
    return request;
  }

  /** Any thread. */
  @Override
  public void decided(Decision decision, long deferredNanos) {
    state.loop().execute(() -> take(decision, deferredNanos));
  }

  private void take(Decision decision, long deferredNanos) {
    if (waiting) {
      waiting = false;
      state.server().listener().on(new DeferralEnded(deferredNanos, true));
      holder.deferralDecided(decision);
    } else if (decision instanceof Decision.Routed routed) {
      routed.lease().ignored();
    }
  }

  /** Any thread. */
  @Override
  public void failed(RuntimeException fault) {
    state.loop().execute(() -> takeFault(fault));
  }

  private void takeFault(RuntimeException fault) {
    if (waiting) {
      waiting = false;
      state.server().listener().on(new DeferralEnded(state.now() - deferredAt, false));
      holder.deferralFailed(fault);
    }
  }

  /** True while the decision is deferred. */
  boolean waits() {
    return waiting;
  }

  /** Cancels a deferred decision. May be called at any time, more than once. */
  void leave() {
    if (waiting) {
      waiting = false;
      deferral.leave(this);
      state.server().listener().on(new DeferralEnded(state.now() - deferredAt, false));
    }
  }
}
