package io.pointsman.engine.fleet;

/**
 * Receives the end of each lease and, if it observes, the first tokens. Called on the settling or
 * reporting thread; must not block.
 */
@FunctionalInterface
public interface LeaseListener {
  /** Returns true if the listener uses first tokens and the workers' token counts. */
  default boolean observes() {
    return false;
  }

  /**
   * The first token of a streamed response has arrived; called only on observing listeners.
   *
   * @param at its time by the engine's ticker
   */
  default void answered(LeaseView lease, long at) {}

  void settled(LeaseView lease, Outcome outcome);
}
