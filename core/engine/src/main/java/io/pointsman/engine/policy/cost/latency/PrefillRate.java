package io.pointsman.engine.policy.cost.latency;

/**
 * The prefill speed of one worker, from the intervals between its first tokens. Each interval with
 * work is one sample, for the model of its kind and for the worker's own speed. First tokens of one
 * engine step are one sample.
 *
 * <p>Guarded by its worker's lock.
 */
final class PrefillRate {
  /** Number of recent samples in the mean speed. */
  private static final double SPEED_SAMPLES = 200;

  /** Weight of the usual speed, in samples. */
  private static final double SPEED_PRIOR = 50;

  /**
   * Maximum change of the logarithm of the speed by one sample. A single stall counts no more than
   * a step that takes half as long again. Otherwise a worker that has stalled would seem slow for a
   * long time.
   */
  private static final double SPEED_DIFFERENCE = 0.4;

  /** Maximum ratio of a worker's speed to the usual one, and its inverse. */
  private static final double MOST_SPEED = 10;

  /** An interval beyond this multiple of its prediction was spent waiting for memory. */
  private static final double LONGEST_OF_PREDICTED = 5;

  private long start;

  /** Before any time until the first token is observed. */
  private long end = Long.MIN_VALUE / 2;

  private long tokens;

  /** Tokens computed since the last first token, for requests that reported none. */
  private long unreported;

  private double util;
  private boolean unusable;
  private boolean nextUnusable;
  private double samples;
  private double logSpeed;
  private double speed = 1;

  /** Returns the worker's step time as a multiple of the usual one of its kind. */
  double speed() {
    return speed;
  }

  /**
   * Marks the current interval as unusable, because a request ended before its prompt was computed.
   */
  void unusable() {
    nextUnusable = true;
  }

  /** The worker has something to compute, after it had nothing. */
  void begins() {
    unreported = 0;
  }

  /** Adds tokens of a prompt computed since the last first token. */
  void computedUnreported(int more) {
    unreported += more;
  }

  /** Adds tokens that were computed when the current first token came. */
  void computed(int more) {
    tokens += more;
  }

  /**
   * Records a first token. {@link #computed} adds the tokens computed for it.
   *
   * @param at its time; may be in the past
   * @param busySince start of the worker's busy period at the request's placement
   * @param utilBefore fraction of the KV memory that decoding has read
   * @param sameStepNanos first tokens within this time belong to one step
   * @return false if a later first token was observed before, so this one is no sample
   */
  boolean firstToken(
      long at, long busySince, double utilBefore, long sameStepNanos, LatencyModel latency) {
    if (at - end < 0) {
      return false;
    }
    if (at - end <= sameStepNanos && tokens > 0) {
      tokens += unreported;
      unreported = 0;
      return true;
    }
    learn(latency);
    start = Math.max(end, busySince);
    end = at;
    tokens = unreported;
    unreported = 0;
    util = utilBefore;
    unusable = nextUnusable;
    nextUnusable = false;
    return true;
  }

  private void learn(LatencyModel latency) {
    double millis = (end - start) / 1e6;
    if (tokens == 0 || millis <= 0 || unusable) {
      return;
    }
    double usual = latency.millis((double) tokens, util);
    double bounded = Math.min(millis, LONGEST_OF_PREDICTED * usual * speed);
    samples = Math.min(samples + 1, SPEED_SAMPLES);
    double difference = Math.log(millis / usual) - logSpeed;
    logSpeed +=
        Math.clamp(difference, -SPEED_DIFFERENCE, SPEED_DIFFERENCE) / (samples + SPEED_PRIOR);
    speed = Math.clamp(Math.exp(logSpeed), 1 / MOST_SPEED, MOST_SPEED);
    latency.learn((double) tokens, util, bounded);
  }
}
