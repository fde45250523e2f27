package io.pointsman.engine.disagg.plan;

/**
 * Why a request must be served by one worker. A closed set: it is a metric label and a header
 * value.
 */
public enum Unsplittable {
  /** Its route has no prefill and no decode phase, or none that is known here. */
  ENDPOINT,
  /** Its body is not whole, not JSON, or encoded: it cannot be edited. */
  UNREADABLE,
  /**
   * {@code n} or {@code best_of}: each sequence is a request of its own in the engine, the KV
   * blocks of one are handed over.
   */
  SEVERAL_CHOICES,
  /** As {@link #SEVERAL_CHOICES}. */
  BEAM_SEARCH,
  /** The prompt is part of the answer, with logprobs that the decode worker does not compute. */
  ECHO,
  /** The decode worker does not compute the prompt, so it has no logprobs for it. */
  PROMPT_LOGPROBS,
  /** Each prompt is a request of its own in the engine. */
  SEVERAL_PROMPTS,
  /** What it builds on is in one worker only. */
  STORED,
  /** The answer comes before the work, so that nothing is handed over in it. */
  BACKGROUND
}
