package io.pointsman.engine.policy.cost.latency;

/**
 * How fast one worker computes prompts, from the times between its first tokens: each such interval
 * in which it had something to compute is a sample, for the model of its kind and for its own speed
 * in comparison. First tokens of one step of the engine make one sample.
 *
 * <p>Guarded by its worker's lock.
 */
final class PrefillRate {
  /** The speed is a mean over so many samples of late. */
  private static final double SPEED_SAMPLES = 200;

  /** So many samples say that the worker has the usual speed. */
  private static final double SPEED_PRIOR = 50;

  /**
   * A sample changes the logarithm of the speed as if it differed by at most this. One stall counts
   * no more than a step that is half as long again: otherwise a worker that has stalled would get
   * less work, and with few samples it would seem slow for a long time.
   */
  private static final double SPEED_DIFFERENCE = 0.4;

  /** No worker is assumed to be more times as fast or slow as others. */
  private static final double MOST_SPEED = 10;

  /** Beyond so many times its prediction an interval was spent waiting for memory. */
  private static final double LONGEST_OF_PREDICTED = 5;

  private long start;

  /** Of no token so far: long before any. */
  private long end = Long.MIN_VALUE / 2;

  private long tokens;

  /** Tokens computed since the last first token for requests that told none. */
  private long unheard;

  private double util;
  private boolean spoilt;
  private boolean nextSpoilt;
  private double samples;
  private double logSpeed;
  private double speed = 1;

  /** Time that the worker takes, in parts of what its kind takes. */
  double speed() {
    return speed;
  }

  /** Something was given up before it was computed: nobody knows how much was done of it. */
  void spoilt() {
    nextSpoilt = true;
  }

  /** The worker has something to compute, and had nothing before. */
  void begins() {
    unheard = 0;
  }

  /** Tokens of a prompt that has been computed since the last first token. */
  void computedUnheard(int more) {
    unheard += more;
  }

  /** Tokens that have been computed when the present first token came. */
  void computed(int more) {
    tokens += more;
  }

  /**
   * A first token has come; what was computed for it is told by {@link #computed}.
   *
   * @param at when it came; may have passed
   * @param busySince since when the worker has had something to compute, as of the request's
   *     placement
   * @param utilBefore share of the KV memory that decoding has read
   * @param sameStepNanos first tokens that arrive within this time belong to one step
   * @return false if a later one was told before, so that this one says nothing of the pace
   */
  boolean firstToken(
      long at, long busySince, double utilBefore, long sameStepNanos, LatencyModel latency) {
    if (at - end < 0) {
      return false;
    }
    if (at - end <= sameStepNanos && tokens > 0) {
      tokens += unheard;
      unheard = 0;
      return true;
    }
    learn(latency);
    start = Math.max(end, busySince);
    end = at;
    tokens = unheard;
    unheard = 0;
    util = utilBefore;
    spoilt = nextSpoilt;
    nextSpoilt = false;
    return true;
  }

  private void learn(LatencyModel latency) {
    double millis = (end - start) / 1e6;
    if (tokens == 0 || millis <= 0 || spoilt) {
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
