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
final class DeferredRequest implements Deferral.Guest {
  /** Receiver of a deferred decision. */
  interface Holder {
    void heldDecided(Decision decision);

    void heldFailed(RuntimeException fault);
  }

  private final LoopState state;
  private final Holder holder;
  private final RoutingRequest request;
  private final Deferral holdBack;
  private boolean waiting;
  private long heldAt;

  DeferredRequest(LoopState state, Holder holder, RoutingRequest request) {
    this.state = state;
    this.holder = holder;
    this.request = request;
    holdBack = state.plane().holdBack();
  }

  /** Returns the decision; null if it is deferred. The holder then gets it later. */
  @Nullable Decision decide() {
    heldAt = state.now();
    Decision decision = holdBack.decide(this);
    if (decision == null) {
      waiting = true;
      wakeLater(state.loop(), holdBack);
    }
    return decision;
  }

  /**
   * A caller keeps its wake-up even if its client leaves, because the wake-up serves all deferred
   * requests.
   */
  private static void wakeLater(EventExecutor loop, Deferral holdBack) {
    long nanos = holdBack.wakeAfterNanos();
    if (nanos != Deferral.NO_WAKE) {
      loop.schedule(() -> wake(loop, holdBack), nanos, TimeUnit.NANOSECONDS);
    }
  }

  private static void wake(EventExecutor loop, Deferral holdBack) {
    try {
      holdBack.wake();
    } finally {
      wakeLater(loop, holdBack);
    }
  }

  @Override
  public RoutingRequest request() {
    return request;
  }

  /** Any thread. */
  @Override
  public void decided(Decision decision, long heldNanos) {
    state.loop().execute(() -> take(decision, heldNanos));
  }

  private void take(Decision decision, long heldNanos) {
    if (waiting) {
      waiting = false;
      state.plane().listener().on(new DeferralEnded(heldNanos, true));
      holder.heldDecided(decision);
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
      state.plane().listener().on(new DeferralEnded(state.now() - heldAt, false));
      holder.heldFailed(fault);
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
      holdBack.leave(this);
      state.plane().listener().on(new DeferralEnded(state.now() - heldAt, false));
    }
  }
}
