package io.pointsman.engine.disagg;

/**
 * Which rule decided whether a request was split. A closed set: it is a metric label and a header
 * value. All but {@link #SPLIT} mean that one worker serves the whole request.
 */
public enum SplitRule {
  /** No rule spoke against it: prefill on one worker, decode on another. */
  SPLIT,
  /** Two workers cannot serve it. */
  UNSPLITTABLE,
  /** Its input is shorter than the threshold. */
  SHORT_INPUT,
  /** A decode worker holds nearly all of the prompt. */
  DECODE_HOLDS_PREFIX,
  /** What no decode worker holds of the prompt is shorter than the threshold. */
  FEW_UNCACHED,
  /** All prefill workers have more prompts before them than is allowed. */
  PREFILL_LOADED,
  /** No prefill worker could be had. */
  NO_PREFILL,
  /** No decode worker could be had. */
  NO_DECODE,
  /** Prefill was tried, and failed on each worker that could be had. */
  PREFILL_FAILED
}
