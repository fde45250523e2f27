package io.pointsman.engine.env;

/** Monotonic clock. Only differences between its values are meaningful. */
@FunctionalInterface
public interface Ticker {
  /** Returns nanoseconds since an arbitrary origin; never decreases. */
  long nanos();
}
