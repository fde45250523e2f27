package io.pointsman.engine.fleet;

/**
 * Hears of each change of the fleet's membership or models. Called in order, under the fleet's
 * lock; must not block.
 */
@FunctionalInterface
public interface FleetListener {
  void changed(FleetSnapshot snapshot);
}
