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
  private volatile boolean draining;

  public void opened() {
    connections.incrementAndGet();
  }

  public void closed() {
    if (connections.decrementAndGet() == 0 && draining) {
      empty.countDown();
    }
  }

  /** Whether the server is about to stop: no connection is kept after its answer. */
  public boolean draining() {
    return draining;
  }

  /** Begins to drain. */
  public void drain() {
    draining = true;
    if (connections.get() == 0) {
      empty.countDown();
    }
  }

  /** Waits for the last connection to go; false if it has not gone in time. */
  public boolean await(long nanos) throws InterruptedException {
    return empty.await(nanos, TimeUnit.NANOSECONDS);
  }
}
