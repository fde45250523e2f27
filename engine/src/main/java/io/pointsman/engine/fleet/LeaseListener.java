package io.pointsman.engine.fleet;

/** Hears of each lease that ends. Called on the thread that settles it; must not block. */
@FunctionalInterface
public interface LeaseListener {
  void settled(Lease lease, Outcome outcome);
}
