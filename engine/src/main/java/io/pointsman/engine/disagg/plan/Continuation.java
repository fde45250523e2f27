package io.pointsman.engine.disagg.plan;

import org.jspecify.annotations.Nullable;

/** How a request goes on after prefill. */
public sealed interface Continuation {
  /**
   * @param first what the client gets before the answer; null if nothing
   */
  record Decode(Leg leg, @Nullable FirstToken first) implements Continuation {}

  /** The prefill's answer, but for its hand-over, is all there is: its first token was the last. */
  record Complete() implements Continuation {}
}
