package io.pointsman.proxy.split;

import java.util.concurrent.atomic.AtomicInteger;

/** Bounds how many requests wait for a place on workers. Safe for any number of threads. */
public final class WaitingRoom {
  private final AtomicInteger waiting = new AtomicInteger();
  private final int most;

  public WaitingRoom(int most) {
    this.most = most;
  }

  /** Takes a seat; false if there is none left. */
  boolean enter() {
    if (waiting.incrementAndGet() > most) {
      waiting.decrementAndGet();
      return false;
    }
    return true;
  }

  void leave() {
    waiting.decrementAndGet();
  }

  /** Requests that wait. */
  public int waiting() {
    return waiting.get();
  }
}
