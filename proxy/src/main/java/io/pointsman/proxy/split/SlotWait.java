package io.pointsman.proxy.split;

import io.netty.util.concurrent.Future;
import io.pointsman.proxy.exchange.LoopState;
import io.pointsman.proxy.split.SplitListener.Stage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One request's wait for a place on workers that are at their limits: it looks again and again,
 * ever more rarely, for a bounded time. Belongs to the event loop.
 */
final class SlotWait {
  private static final long FIRST_LOOK_NANOS = 2_000_000L;
  private static final long MOST_LOOK_NANOS = 50_000_000L;

  private final LoopState state;
  private final SplitPlane plane;
  private boolean waiting;
  private long since;
  private long look;
  private @Nullable Future<?> timer;

  SlotWait(LoopState state, SplitPlane plane) {
    this.state = state;
    this.plane = plane;
  }

  /**
   * Has {@code again} run in a while.
   *
   * @return false if the request has waited for as long as is allowed, or too many wait already
   */
  boolean lookLater(Runnable again) {
    if (!mayWait()) {
      return false;
    }
    timer = state.loop().schedule(again, look, TimeUnit.NANOSECONDS);
    look = Math.min(2 * look, MOST_LOOK_NANOS);
    return true;
  }

  private boolean mayWait() {
    long most = plane.stages().slotWait().toNanos();
    if (waiting) {
      return state.now() - since < most;
    }
    waiting = most > 0 && plane.room().enter();
    since = state.now();
    look = FIRST_LOOK_NANOS;
    return waiting;
  }

  /** Waits no more. May be called at any time, and again. */
  void leave() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (waiting) {
      waiting = false;
      plane.room().leave();
      plane.listener().stage(Stage.SLOT, state.now() - since);
    }
  }
}
