package io.pointsman.engine.disagg.plan;

/**
 * Why a request must be served by one worker. A closed set: it is a metric label and a header
 * value.
 */
public enum Unsplittable {
  /** Its route has no prefill and no decode phase, or none that is known here. */
  ENDPOINT("this route"),
  /** Its body is not whole, not JSON, or encoded: it cannot be edited. */
  UNREADABLE("a body that is not one readable JSON object"),
  /**
   * {@code n} or {@code best_of}: each sequence is a request of its own in the engine, the KV
   * blocks of one are handed over.
   */
  SEVERAL_CHOICES("several choices (n, best_of)"),
  /** As {@link #SEVERAL_CHOICES}. */
  BEAM_SEARCH("beam search"),
  /** The prompt is part of the answer, with logprobs that the decode worker does not compute. */
  ECHO("echo"),
  /** The decode worker does not compute the prompt, so it has no logprobs for it. */
  PROMPT_LOGPROBS("logprobs of the prompt"),
  /** Each prompt is a request of its own in the engine. */
  SEVERAL_PROMPTS("several prompts in one request"),
  /** What it builds on is in one worker only. */
  STORED("previous_response_id or conversation"),
  /** The answer comes before the work, so that nothing is handed over in it. */
  BACKGROUND("background");

  private final String told;

  Unsplittable(String told) {
    this.told = told;
  }

  /** What it is about the request, for its client: a few words. */
  public String told() {
    return told;
  }
}
