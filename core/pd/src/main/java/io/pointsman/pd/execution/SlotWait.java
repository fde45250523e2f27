package io.pointsman.pd.execution;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.execution.waiting.SlotQueues.Position;
import io.pointsman.pd.execution.waiting.SlotQueues.SlotKey;
import io.pointsman.pd.telemetry.SplitListener.Stage;
import io.pointsman.proxy.loop.LoopState;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Wait of one request for a free slot on workers. It waits in a queue; only the first request of a
 * queue polls for slots. The sum of all its waits is bounded. Belongs to the event loop.
 */
final class SlotWait {
  private static final long FIRST_LOOK_NANOS = 2_000_000L;
  private static final long MOST_LOOK_NANOS = 50_000_000L;

  private final LoopState state;
  private final PdContext context;
  private final Runnable look;

  /** Remaining wait of the request, in nanoseconds. */
  private long left;

  private long since;
  private long pause = FIRST_LOOK_NANOS;
  private @Nullable Position position;
  private @Nullable Future<?> timer;

  /**
   * @param look called on the event loop when it is time to poll for a slot
   */
  SlotWait(LoopState state, PdContext context, Runnable look) {
    this.state = state;
    this.context = context;
    this.look = look;
    left = context.stages().slotWait().toNanos();
  }

  /** The roles that earlier requests wait for. */
  Set<Role> before(Object owner) {
    return context.queues().before(owner, position);
  }

  /**
   * Waits until the next poll.
   *
   * @param key queue of requests that keep their order
   * @param leastNanos minimum time to a free slot, in nanoseconds; 0 if unknown
   * @return false if the wait is used up or not permitted
   */
  boolean begin(SlotKey key, long leastNanos) {
    if (position == null) {
      since = state.now();
      pause = FIRST_LOOK_NANOS;
      position = left > leastNanos ? context.queues().enter(key, this::turnFromElsewhere) : null;
    } else {
      context.queues().change(position, key);
    }
    Position own = position;
    long rest = left - (state.now() - since);
    if (own == null || rest <= 0 || rest < leastNanos) {
      return false;
    }
    cancel();
    long next = context.queues().first(own) ? Math.min(pause, rest) : rest;
    pause = Math.min(2 * pause, MOST_LOOK_NANOS);
    timer = state.loop().schedule(this::elapsed, next, TimeUnit.NANOSECONDS);
    return true;
  }

  private void turnFromElsewhere() {
    state.loop().execute(this::turn);
  }

  private void turn() {
    if (position != null && timer != null) {
      cancel();
      pause = FIRST_LOOK_NANOS;
      look.run();
    }
  }

  private void elapsed() {
    timer = null;
    look.run();
  }

  /** Ends the wait, if any. The next request of the queue gets its turn. */
  void end() {
    cancel();
    Position own = position;
    if (own != null) {
      position = null;
      long waited = state.now() - since;
      left -= waited;
      context.listener().stage(Stage.SLOT, waited);
      context.queues().leave(own);
    }
  }

  private void cancel() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }
}
