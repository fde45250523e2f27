package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Worker;

/**
 * What a policy thought of one worker when it decided on a request.
 *
 * @param inFlight requests in flight there, without this one
 * @param heldTokens prompt tokens that it was thought to hold
 * @param uncachedTokens prompt tokens that it would have had to compute
 * @param ttftMillis predicted time to first token; NaN if it could not be chosen
 * @param waitMillis how much of that the request would have waited for others
 * @param costMillis what was compared: time to first token and the price on new work
 */
public record Candidate(
    Worker worker,
    Verdict verdict,
    int inFlight,
    int heldTokens,
    int uncachedTokens,
    double ttftMillis,
    double waitMillis,
    double costMillis) {

  /** Why it serves the request, or does not. A closed set: it is told in answers. */
  public enum Verdict {
    CHOSEN,
    /** It may not be chosen: not healthy, draining, resting, stalled, or at its limit. */
    OUT,
    /** It has had an attempt of this request. */
    TRIED,
    /** About as good, but with more requests in flight. */
    MORE_LOAD,
    /** As good in every way: chance decided. */
    CHANCE,
    /** Dearer, most of all because the request would have waited for others. */
    LONGER_WAIT,
    /** Dearer, most of all because it holds less of the prompt; or as good but for that. */
    LESS_CACHED,
    /** Dearer, most of all because it computes more slowly or decodes more. */
    SLOWER,
    /**
     * Better, and not chosen all the same: not among those compared of a large fleet, or the
     * request was pinned, or the policy failed.
     */
    PASSED_OVER
  }
}
