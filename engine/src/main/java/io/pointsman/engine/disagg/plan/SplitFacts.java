package io.pointsman.engine.disagg.plan;

import org.jspecify.annotations.Nullable;

/**
 * What a request says that matters for serving it by two workers. A number that is absent is {@link
 * #ABSENT}; one that is there and no integer is {@link #ODD}.
 *
 * @param endpoint the route; null if it is none whose requests can be split
 * @param readable whether the whole body is there and a JSON object
 * @param choices {@code n}
 * @param bestOf {@code best_of}
 * @param beamSearch whether {@code use_beam_search} is anything but false
 * @param echo whether {@code echo} is anything but false
 * @param promptLogprobs whether logprobs of the prompt's own tokens are asked for
 * @param prompts prompts in the request; 2 stands for all numbers above 1
 * @param stored whether it builds on a stored response or conversation
 * @param background whether it is answered before it is served
 * @param tokenPrompt whether the prompt is one list of token ids
 * @param plain whether the body has no member but such as leave each token to the prompt, the
 *     tokens before it and a draw of its own, and of which nothing is told but its text: then it
 *     does not matter whether two workers make two of them; false where {@code tokenPrompt} is
 * @param maxTokens most tokens to generate
 * @param stream whether it asks for a stream
 * @param tokens estimated size of the input in tokens: exact for token ids, else characters / 4;
 *     {@link #ABSENT} if it was not estimated
 * @param promptless whether nothing is computed for it, so that every worker can serve it: counting
 *     tokens, stored answers, requests without a body
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

  /** Of a request whose body tells nothing. */
  public static SplitFacts unreadable(@Nullable PdEndpoint endpoint) {
    return untold(endpoint, false);
  }

  /** Of a request for which nothing is computed. */
  public static SplitFacts ofNoPrompt() {
    return untold(null, true);
  }

  private static SplitFacts untold(@Nullable PdEndpoint endpoint, boolean promptless) {
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

  /** Why one worker has to serve the whole request; null if two can. */
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
