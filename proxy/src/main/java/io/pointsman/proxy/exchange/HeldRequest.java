package io.pointsman.proxy.exchange;

import io.netty.util.concurrent.EventExecutor;
import io.pointsman.engine.Decision;
import io.pointsman.engine.holdback.HoldBack;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.loop.LoopState;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One request that is decided on, at once or after it was held back because every worker was full.
 * Belongs to the client's event loop, but for what it hears as a guest.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a wake-up has no failure, and is never taken back
final class HeldRequest implements HoldBack.Guest {
  /** What is done with the decision on a request that was held back. */
  interface Holder {
    void heldDecided(Decision decision);

    void heldFailed(RuntimeException fault);
  }

  private final LoopState state;
  private final Holder holder;
  private final RoutingRequest request;
  private boolean waiting;
  private long heldAt;

  HeldRequest(LoopState state, Holder holder, RoutingRequest request) {
    this.state = state;
    this.holder = holder;
    this.request = request;
  }

  /** Decides; null if it is held back, so that the holder hears of it later. */
  @Nullable Decision decide() {
    HoldBack holdBack = state.plane().holdBack();
    heldAt = state.now();
    Decision decision = holdBack.decide(this);
    if (decision == null) {
      waiting = true;
      wakeLater(state.loop(), holdBack);
    }
    return decision;
  }

  /** Whose client leaves keeps its promise to wake the others. */
  private static void wakeLater(EventExecutor loop, HoldBack holdBack) {
    long nanos = holdBack.wakeAfterNanos();
    if (nanos != HoldBack.NO_WAKE) {
      loop.schedule(() -> wake(loop, holdBack), nanos, TimeUnit.NANOSECONDS);
    }
  }

  private static void wake(EventExecutor loop, HoldBack holdBack) {
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

  /** On any thread. */
  @Override
  public void decided(Decision decision, long heldNanos) {
    state.loop().execute(() -> take(decision, heldNanos));
  }

  private void take(Decision decision, long heldNanos) {
    if (waiting) {
      waiting = false;
      state.plane().listener().heldBack(heldNanos, true);
      holder.heldDecided(decision);
    } else if (decision instanceof Decision.Routed routed) {
      routed.lease().ignored();
    }
  }

  /** On any thread. */
  @Override
  public void failed(RuntimeException fault) {
    state.loop().execute(() -> takeFault(fault));
  }

  private void takeFault(RuntimeException fault) {
    if (waiting) {
      waiting = false;
      state.plane().listener().heldBack(state.now() - heldAt, false);
      holder.heldFailed(fault);
    }
  }

  /** Whether it is held back. */
  boolean waits() {
    return waiting;
  }

  /** Is not wanted any more. May be called at any time, and again. */
  void leave() {
    if (waiting) {
      waiting = false;
      state.plane().holdBack().leave(this);
      state.plane().listener().heldBack(state.now() - heldAt, false);
    }
  }
}
