package io.pointsman.server.scheduling;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import io.pointsman.engine.env.Ticker;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * I/O handler that lets a busy event loop sleep briefly before it waits for sockets. It then wakes
 * once for several chunks, as network drivers do with interrupts. To sleep and wake costs more than
 * to relay a chunk. The loop sleeps only if events are frequent, and if the sleep is short compared
 * with the interval between two events of one request. Only the loop's thread runs it; any thread
 * may call {@link #wakeup}.
 */
final class Coalescing implements IoHandler {
  /** Maximum sleep. A thousand streams of 20 tokens/s send five chunks in this time. */
  static final long SLEEP_NANOS = 250_000;

  /** Length of the window over which the event rate is measured. */
  static final long WINDOW_NANOS = 10_000_000;

  /**
   * Minimum event rate for a sleep, per second. A chunk has two events: received and sent. Below
   * this rate a sleep collects too few events to pay for its timer.
   */
  static final long LEAST_EVENTS = 25_000;

  /**
   * Maximum event rate per request for a sleep, per second. A stream of 100 tokens/s has 200. Above
   * this rate a sleep delays each request: fast engines send many small answers in sequence.
   */
  static final long MOST_EVENTS_OF_ONE = 500;

  private final IoHandler sockets;
  private final IntSupplier running;
  private final Ticker ticker;
  private final long sleepNanos;
  private final BooleanSupplier enabled;
  private long begun;
  private long events;
  private boolean worthwhile;
  private volatile @Nullable Thread asleep;

  /**
   * @param sockets handler that waits for the sockets
   * @param running number of requests in progress on this loop
   * @param sleepNanos maximum sleep in nanoseconds
   * @param enabled false while the loop must not sleep
   */
  Coalescing(
      IoHandler sockets,
      IntSupplier running,
      Ticker ticker,
      long sleepNanos,
      BooleanSupplier enabled) {
    this.sockets = sockets;
    this.running = running;
    this.ticker = ticker;
    this.sleepNanos = sleepNanos;
    this.enabled = enabled;
    begun = ticker.nanos();
  }

  @Override
  public int run(IoHandlerContext context) {
    if (!enabled.getAsBoolean()) {
      return sockets.run(context);
    }
    int handled = worthwhile && context.canBlock() ? runRested(context) : sockets.run(context);
    count(handled);
    return handled;
  }

  /** Sends pending writes before the sleep. Events that are ready do not wait for the sleep. */
  private int runRested(IoHandlerContext context) {
    int handled = sockets.run(new AtOnce(context));
    if (handled > 0) {
      return handled;
    }
    long most = Math.min(sleepNanos, context.delayNanos(ticker.nanos()));
    if (most > 0) {
      asleep = Thread.currentThread();
      LockSupport.parkNanos(this, most);
      asleep = null;
    }
    return sockets.run(context);
  }

  private void count(int handled) {
    events += handled;
    long now = ticker.nanos();
    long passed = now - begun;
    if (passed >= WINDOW_NANOS) {
      double rate = events * 1e9 / passed;
      worthwhile = rate >= LEAST_EVENTS && rate <= (double) MOST_EVENTS_OF_ONE * running.getAsInt();
      begun = now;
      events = 0;
    }
  }

  @Override
  public void initialize() {
    sockets.initialize();
  }

  @Override
  public void prepareToDestroy() {
    sockets.prepareToDestroy();
  }

  @Override
  public void destroy() {
    sockets.destroy();
  }

  @Override
  public IoRegistration register(IoHandle handle) throws Exception {
    return sockets.register(handle);
  }

  @Override
  public void wakeup() {
    sockets.wakeup();
    Thread sleeper = asleep;
    if (sleeper != null) {
      LockSupport.unpark(sleeper);
    }
  }

  @Override
  public boolean isCompatible(Class<? extends IoHandle> type) {
    return sockets.isCompatible(type);
  }

  /** Context that never blocks, as if tasks were pending. */
  private record AtOnce(IoHandlerContext context) implements IoHandlerContext {
    @Override
    public boolean canBlock() {
      return false;
    }

    @Override
    public long delayNanos(long now) {
      return context.delayNanos(now);
    }

    @Override
    public long deadlineNanos() {
      return context.deadlineNanos();
    }
  }
}
