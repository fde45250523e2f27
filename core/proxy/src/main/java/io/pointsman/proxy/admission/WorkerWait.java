package io.pointsman.proxy.admission;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.pointsman.engine.deferral.WorkerWaits;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerAwaited;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Wait of one request while no worker is available for it. All its waits together are bounded.
 * Belongs to the event loop.
 */
public final class WorkerWait {
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(25);

  private final EventExecutor loop;
  private final WorkerWaits bound;
  private final ProxyListener listener;
  private final Ticker ticker;
  private final @Nullable String model;
  private boolean waiting;
  private boolean begun;
  private long until;
  private @Nullable Future<?> timer;

  /**
   * @param loop event loop of the request
   * @param model model of the request; null if it names none
   */
  public WorkerWait(
      EventExecutor loop,
      WorkerWaits bound,
      ProxyListener listener,
      Ticker ticker,
      @Nullable String model) {
    this.loop = loop;
    this.bound = bound;
    this.listener = listener;
    this.ticker = ticker;
    this.model = model;
  }

  /** True while the request waits. */
  public boolean waits() {
    return waiting;
  }

  /**
   * Waits until a worker may serve the request, or the time is over.
   *
   * @param mayServe true if a worker may serve the request now
   * @param then called once on the event loop
   * @return false if the request may not wait, or not longer
   */
  public boolean begin(BooleanSupplier mayServe, Runnable then) {
    if (!waiting && !enter()) {
      return false;
    }
    if (ticker.nanos() - until >= 0) {
      end();
      return false;
    }
    look(mayServe, then);
    return true;
  }

  private boolean enter() {
    if (!bound.enter()) {
      return false;
    }
    waiting = true;
    if (!begun) {
      begun = true;
      until = ticker.nanos() + bound.longestNanos();
    }
    listener.on(new WorkerAwaited(model, true));
    return true;
  }

  private void look(BooleanSupplier mayServe, Runnable then) {
    timer =
        loop.schedule(
            () -> {
              timer = null;
              if (mayServe.getAsBoolean() || ticker.nanos() - until >= 0) {
                then.run();
              } else {
                look(mayServe, then);
              }
            },
            LOOK_NANOS,
            TimeUnit.NANOSECONDS);
  }

  /** Ends the wait, if any. May be called at any time. */
  public void end() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (waiting) {
      waiting = false;
      bound.leave();
      listener.on(new WorkerAwaited(model, false));
    }
  }
}
