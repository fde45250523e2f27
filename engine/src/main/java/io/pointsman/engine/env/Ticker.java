package io.pointsman.engine.env;

/** Monotonic time. Only differences mean something. */
@FunctionalInterface
public interface Ticker {
  /** Nanoseconds since an arbitrary origin; never goes back. */
  long nanos();
}
