package io.pointsman.proxy.admission;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * Counter of client connections. It reports the close of the last one while the server drains.
 * Thread-safe; used once when a connection opens and once when it closes.
 */
public final class DrainGate {
  /** True while all places for clients are taken. */
  private volatile BooleanSupplier full = () -> false;

  /** True while all places at the admin listener are taken. */
  private volatile BooleanSupplier adminFull = () -> false;

  private volatile long shortUntil;
  private volatile boolean wasShort;

  private final AtomicInteger connections = new AtomicInteger();
  private final CountDownLatch empty = new CountDownLatch(1);
  private volatile boolean stopping;
  private volatile boolean draining;

  public void opened() {
    connections.incrementAndGet();
  }

  public void closed() {
    if (connections.decrementAndGet() == 0 && draining) {
      empty.countDown();
    }
  }

  /** True after {@link #stop}: each answer announces that its connection closes. */
  public boolean stopping() {
    return stopping;
  }

  /**
   * True after {@link #drain}: the server accepts no connections and keeps none open between
   * requests.
   */
  public boolean draining() {
    return draining;
  }

  /** Makes further answers announce that their connections close. */
  public void stop() {
    stopping = true;
  }

  /** Starts to drain. All accepted connections must have been counted. */
  public void drain() {
    stopping = true;
    draining = true;
    if (connections.get() == 0) {
      empty.countDown();
    }
  }

  /**
   * Waits for the close of the last connection while the server drains. Returns false after {@code
   * nanos}.
   */
  public boolean await(long nanos) throws InterruptedException {
    return empty.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Sets the check whether all places for clients are taken. Any thread. */
  public void fullIf(BooleanSupplier isFull) {
    full = isFull;
  }

  /** Sets the check whether all places at the admin listener are taken. Any thread. */
  public void adminFullIf(BooleanSupplier isFull) {
    adminFull = isFull;
  }

  /** True if idle connections to the admin listener must make room for others. */
  public boolean adminNeedsRoom() {
    return adminFull.getAsBoolean();
  }

  /** Reports that descriptors were short, until this time. Any thread. */
  public void shortUntil(long nanos) {
    shortUntil = nanos;
    wasShort = true;
  }

  /** True if idle connections must make room for others. */
  public boolean needsRoom(long now) {
    return full.getAsBoolean() || (wasShort && shortUntil - now > 0);
  }
}
