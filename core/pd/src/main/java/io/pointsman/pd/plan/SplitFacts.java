package io.pointsman.pd.plan;

import org.jspecify.annotations.Nullable;

/**
 * Facts about a request that determine whether two workers can serve it. A missing number is {@link
 * #ABSENT}; a value that is not an integer is {@link #ODD}.
 *
 * @param endpoint the route; null if its requests cannot be split
 * @param readable true if the body is complete and a JSON object
 * @param choices {@code n}
 * @param bestOf {@code best_of}
 * @param beamSearch true if {@code use_beam_search} is present and not false
 * @param echo true if {@code echo} is present and not false
 * @param promptLogprobs true if log probabilities of prompt tokens are requested
 * @param prompts number of prompts; 2 means two or more
 * @param stored true if it continues a stored response or conversation
 * @param background true if the response comes before the work
 * @param tokenPrompt true if the prompt is one list of token ids
 * @param plain true if each token depends only on the prompt, the previous tokens and a random
 *     draw, and the response contains only its text. Two workers may then generate two of the
 *     tokens. False unless {@code tokenPrompt} is true.
 * @param maxTokens maximum number of tokens to generate
 * @param stream true if a stream is requested
 * @param tokens estimated input tokens: exact for token ids, else characters / 4; {@link #ABSENT}
 *     if not estimated
 * @param promptless true if the request needs no computation and every worker can serve it: token
 *     counts, stored responses, requests without a body
 */
public record SplitFacts(
    @Nullable PdEndpoint endpoint,
    boolean readable,
    long choices,
    long bestOf,
    boolean beamSearch,
    boolean echo,
    boolean promptLogprobs,
    int prompts,
    boolean stored,
    boolean background,
    boolean tokenPrompt,
    boolean plain,
    long maxTokens,
    boolean stream,
    long tokens,
    boolean promptless) {

  public static final long ABSENT = -1;
  public static final long ODD = -2;

  /** Facts for a request with an unreadable body. */
  public static SplitFacts unreadable(@Nullable PdEndpoint endpoint) {
    return withoutBody(endpoint, false);
  }

  /** Facts for a request that needs no computation. */
  public static SplitFacts ofNoPrompt() {
    return withoutBody(null, true);
  }

  private static SplitFacts withoutBody(@Nullable PdEndpoint endpoint, boolean promptless) {
    return new SplitFacts(
        endpoint,
        false,
        ABSENT,
        ABSENT,
        false,
        false,
        false,
        1,
        false,
        false,
        false,
        false,
        ABSENT,
        false,
        ABSENT,
        promptless);
  }

  /** Returns the reason why one worker must serve the whole request; null if two can. */
  public @Nullable Unsplittable unsplittable() {
    if (endpoint == null) {
      return Unsplittable.ENDPOINT;
    }
    if (!readable) {
      return Unsplittable.UNREADABLE;
    }
    if (severalChoices()) {
      return Unsplittable.SEVERAL_CHOICES;
    }
    if (beamSearch) {
      return Unsplittable.BEAM_SEARCH;
    }
    if (echo) {
      return Unsplittable.ECHO;
    }
    if (promptLogprobs) {
      return Unsplittable.PROMPT_LOGPROBS;
    }
    if (prompts > 1) {
      return Unsplittable.SEVERAL_PROMPTS;
    }
    if (stored) {
      return Unsplittable.STORED;
    }
    return background ? Unsplittable.BACKGROUND : null;
  }

  private boolean severalChoices() {
    return (choices != ABSENT && choices != 1) || (bestOf != ABSENT && bestOf > 1) || bestOf == ODD;
  }
}
