package io.pointsman.testkit.engine;

/** What the engines of a fleet can do together, and what can happen to their names. */
public enum FleetFault {
  /** All engines end at once, with all their connections, and come back later. */
  ALL_DIE_AT_ONCE,
  /** An engine ends and comes back again and again. */
  FLAPS,
  /** An engine's name gets another address. */
  NAME_MOVES,
  /** An engine's name is not known any more. */
  NAME_IS_UNKNOWN,
  /** The look-up of an engine's name gets no answer. */
  NAME_LOOK_UP_HANGS
}
