package io.pointsman.control.env;

import io.pointsman.engine.env.Ticker;

/** The system's monotonic clock. */
public final class SystemTicker implements Ticker {
  @Override
  public long nanos() {
    return System.nanoTime();
  }
}
