package io.pointsman.pd.rule;

/**
 * The rule that determined whether a request was split. A closed set: it is a metric label and a
 * header value. All but {@link #SPLIT} mean that one worker serves the whole request.
 */
public enum SplitRule {
  /** No rule prevented it: prefill on one worker, decode on another. */
  SPLIT,
  /** The request cannot be split. */
  UNSPLITTABLE,
  /** The input is shorter than the threshold. */
  SHORT_INPUT,
  /** A decode worker holds nearly all of the prompt. */
  CACHED_ON_DECODE,
  /** The part of the prompt that no decode worker holds is shorter than the threshold. */
  FEW_UNCACHED,
  /** All prefill workers have more pending prompt tokens than permitted. */
  PREFILL_LOADED,
  /** No prefill worker was available. */
  NO_PREFILL,
  /** No decode worker was available. */
  NO_DECODE,
  /** Prefill was tried and failed on every available worker. */
  PREFILL_FAILED
}
