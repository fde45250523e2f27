package io.pointsman.proxy;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import io.pointsman.engine.env.Ticker;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets a loop with many open streams sleep for a moment before it waits for sockets, so that it
 * wakes for several chunks at once, as drivers of network cards do with interrupts: to fall asleep
 * and to be woken costs more than a chunk does. It sleeps only while events come often, and while
 * what one request waits for between two of its events is many times as long.
 */
final class Coalescing implements IoHandler {
  /** A thousand streams of 20 tokens/s have five chunks meanwhile. */
  static final long SLEEP_NANOS = 250_000;

  /** Events that came in so long tell whether to sleep. */
  static final long WINDOW_NANOS = 10_000_000;

  /**
   * Per second; a chunk has two, that it has come and that it was sent. With fewer of them a sleep
   * collects too little to pay for its own timer.
   */
  static final long LEAST_EVENTS = 25_000;

  /**
   * Per second and request; a stream of 100 tokens/s has 200. With more of them, each would feel
   * the sleep: small answers of fast engines, one behind the other.
   */
  static final long MOST_EVENTS_OF_ONE = 500;

  private final IoHandler sockets;
  private final IntSupplier running;
  private final Ticker ticker;
  private final long sleepNanos;
  private long begun;
  private long events;
  private boolean worthwhile;
  private volatile @Nullable Thread asleep;

  /**
   * @param sockets how the loop waits
   * @param running requests under way on this loop
   * @param sleepNanos how long it sleeps at most
   */
  Coalescing(IoHandler sockets, IntSupplier running, Ticker ticker, long sleepNanos) {
    this.sockets = sockets;
    this.running = running;
    this.ticker = ticker;
    this.sleepNanos = sleepNanos;
    begun = ticker.nanos();
  }

  @Override
  public int run(IoHandlerContext context) {
    int handled = worthwhile && context.canBlock() ? runRested(context) : sockets.run(context);
    count(handled);
    return handled;
  }

  /** What is written is sent before the sleep, and what has come already does not wait for it. */
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

  /** As if there were tasks to do. */
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
