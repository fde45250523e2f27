package io.pointsman.engine.fleet;

/**
 * Hears of each lease that ends, and if it wants to of first tokens. Called on the thread that
 * settles it or that has the token; must not block.
 */
@FunctionalInterface
public interface LeaseListener {
  /** Whether it wants to hear of first tokens, and reads what workers say of tokens. */
  default boolean observes() {
    return false;
  }

  /** The first token of a streamed answer has come; said only to those who observe. */
  default void answered(Lease lease) {}

  void settled(Lease lease, Outcome outcome);
}
