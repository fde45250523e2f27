package io.pointsman.pd.plan;

import org.jspecify.annotations.Nullable;

/** The continuation of a request after prefill. */
public sealed interface Continuation {
  /**
   * The decode request follows.
   *
   * @param first text that the client receives before the decode response; null if none
   */
  record Decode(PdStep step, @Nullable FirstToken first) implements Continuation {}

  /**
   * The prefill response, without its handover data, is the complete response: its first token was
   * the last.
   */
  record Complete() implements Continuation {}
}
