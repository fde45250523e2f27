package io.pointsman.pd.plan;

/**
 * The reason why one worker must serve a request. A closed set: it is a metric label and a header
 * value.
 */
public enum Unsplittable {
  /** The route has no prefill and decode phases, or none known here. */
  ENDPOINT("this route"),
  /** The body is incomplete, not JSON, or encoded, so it cannot be edited. */
  UNREADABLE("a body that is not one readable JSON object"),
  /**
   * {@code n} or {@code best_of}: each sequence is a separate request in the engine, but the blocks
   * of only one are transferred.
   */
  SEVERAL_CHOICES("several choices (n, best_of)"),
  /** As {@link #SEVERAL_CHOICES}. */
  BEAM_SEARCH("beam search"),
  /**
   * The response contains the prompt with log probabilities that the decode worker does not
   * compute.
   */
  ECHO("echo"),
  /** The decode worker does not compute the prompt, so it has no log probabilities for it. */
  PROMPT_LOGPROBS("logprobs of the prompt"),
  /** Each prompt is a separate request in the engine. */
  SEVERAL_PROMPTS("several prompts in one request"),
  /** The stored state exists on one worker only. */
  STORED("previous_response_id or conversation"),
  /** The response comes before the work, so it contains no handover data. */
  BACKGROUND("background");

  private final String feature;

  Unsplittable(String feature) {
    this.feature = feature;
  }

  /** The unsupported feature for the client's error message, in a few words. */
  public String feature() {
    return feature;
  }
}
