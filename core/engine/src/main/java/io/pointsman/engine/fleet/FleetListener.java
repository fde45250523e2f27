package io.pointsman.engine.fleet;

/**
 * Receives each change of the fleet's members or models. The fleet calls it in order and under its
 * lock, so it must not block.
 */
@FunctionalInterface
public interface FleetListener {
  void changed(FleetSnapshot snapshot);
}
