package io.pointsman.server.wiring;

/** A prepared change from one resource to another, which is not in use yet. */
interface Replacement {
  /** Uses the new one. */
  void apply();

  /** Uses the earlier one again. */
  void undo();

  /** Releases the new one, because it does not come into use. */
  void drop();

  /** Releases the earlier one after the change. */
  void finish();
}
