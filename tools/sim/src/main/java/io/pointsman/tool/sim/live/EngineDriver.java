package io.pointsman.tool.sim.live;

import io.netty.channel.EventLoop;
import io.pointsman.tool.sim.schedule.Scheduler;
import io.pointsman.tool.sim.schedule.Sequence;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Runs a scheduler in real time on an event loop. Engine time starts at 0 and passes {@code speed}
 * times as fast as the ticker. Owned by the loop.
 */
public final class EngineDriver {
  private final Scheduler scheduler;
  private final EventLoop loop;
  private final LongSupplier ticker;
  private final double speed;
  private final long origin;
  private List<Runnable> afterStep = new ArrayList<>();
  private boolean armed;

  /**
   * Creates a driver at engine time 0.
   *
   * @param ticker monotonic time in nanoseconds
   * @param speed engine seconds per second, above 0
   */
  public EngineDriver(Scheduler scheduler, EventLoop loop, LongSupplier ticker, double speed) {
    this.scheduler = scheduler;
    this.loop = loop;
    this.ticker = ticker;
    this.speed = speed;
    this.origin = ticker.getAsLong();
  }

  /** Engine time in nanoseconds. */
  public long now() {
    return (long) ((ticker.getAsLong() - origin) * speed);
  }

  /** Submits a sequence to the scheduler. */
  public void submit(Sequence sequence) {
    scheduler.submit(sequence, now());
    nudge();
  }

  /** Checks for work that can start because memory has become free. */
  public void nudge() {
    if (!armed) {
      armed = true;
      loop.execute(this::wake);
    }
  }

  /** Aborts a sequence. */
  public void abort(Sequence sequence) {
    scheduler.abort(sequence);
  }

  /**
   * Runs an action once, when the scheduler has done all due work; for writing several tokens at
   * once.
   */
  public void afterStep(Runnable action) {
    afterStep.add(action);
  }

  /** Runs an action after {@code millis} of engine time. */
  public void later(double millis, Runnable action) {
    loop.schedule(action, (long) (millis * 1e6 / speed), TimeUnit.NANOSECONDS);
  }

  /** Runs an action after {@code millis} of wall time. */
  public void laterInWallTime(long millis, Runnable action) {
    loop.schedule(action, millis, TimeUnit.MILLISECONDS);
  }

  private void wake() {
    long next = scheduler.advance(now());
    List<Runnable> due = afterStep;
    if (!due.isEmpty()) {
      afterStep = new ArrayList<>();
      due.forEach(Runnable::run);
    }
    armed = next != Scheduler.NEVER;
    if (armed) {
      // Uses a timer even if the next step is due: a task would run before the loop polls its
      // sockets.
      long nanos = Math.max(1, (long) ((next - now()) / speed));
      loop.schedule(this::wake, nanos, TimeUnit.NANOSECONDS);
    }
  }
}
