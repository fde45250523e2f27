package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Worker;

/**
 * A policy's evaluation of one worker for one request.
 *
 * @param inFlight requests in flight, without this one
 * @param cachedTokens prompt tokens expected in its cache
 * @param uncachedTokens prompt tokens that it would have to compute
 * @param ttftMillis predicted time to first token in milliseconds; NaN if the worker was not
 *     eligible
 * @param waitMillis the part of {@code ttftMillis} spent waiting for other requests
 * @param costMillis the value compared: time to first token plus the price of new work
 */
public record Candidate(
    Worker worker,
    Verdict verdict,
    int inFlight,
    int cachedTokens,
    int uncachedTokens,
    double ttftMillis,
    double waitMillis,
    double costMillis) {

  /**
   * The reason why the worker serves the request or does not. A closed set: it appears in
   * responses.
   */
  public enum Verdict {
    CHOSEN,
    /** Not eligible: unhealthy, draining, resting, stalled, or at its limit. */
    OUT,
    /** Already tried for this request. */
    TRIED,
    /** About equal cost, but more requests in flight. */
    MORE_LOAD,
    /** Equal in every respect: a random draw decided. */
    CHANCE,
    /** Higher cost, mostly because the request would have waited for others. */
    LONGER_WAIT,
    /** Higher cost, mostly because less of the prompt is cached; or equal except for that. */
    LESS_CACHED,
    /** Higher cost, mostly because prefill is slower or more sequences decode. */
    SLOWER,
    /**
     * Lower cost, but not chosen. In a large fleet it was not compared, or the request was pinned,
     * or the policy failed.
     */
    PASSED_OVER
  }
}
