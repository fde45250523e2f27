package io.pointsman.proxy.admission;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts client connections, and says when the last one has gone after no more are let in. Safe for
 * use by several threads; touched once when a connection opens and once when it closes.
 */
public final class DrainGate {
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

  /** Whether the server was told to stop: each answer says that its connection closes. */
  public boolean stopping() {
    return stopping;
  }

  /** Whether no more connections are let in, and none is kept between two requests. */
  public boolean draining() {
    return draining;
  }

  /** From now on answers say that their connections close. */
  public void stop() {
    stopping = true;
  }

  /** Begins to drain; connections that were let in have been counted. */
  public void drain() {
    stopping = true;
    draining = true;
    if (connections.get() == 0) {
      empty.countDown();
    }
  }

  /** Waits for the last connection to go while it drains; false if it has not gone in time. */
  public boolean await(long nanos) throws InterruptedException {
    return empty.await(nanos, TimeUnit.NANOSECONDS);
  }
}
