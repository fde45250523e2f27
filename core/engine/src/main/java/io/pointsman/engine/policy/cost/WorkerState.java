package io.pointsman.engine.policy.cost;

/**
 * The state of one worker as of its last event, for picks. Immutable.
 *
 * @param kind what is learned of workers of its kind
 * @param prefill the prompts that it computes or has yet to compute
 * @param assumesAt when the next silent prompt counts as computed; nanoseconds of the ticker
 * @param decoding requests that have their first token
 * @param util share of the KV memory that decoding reads, 0 to 1
 * @param room tokens of KV memory that a further prompt may take without waiting
 * @param roomReported whether the engine reports the size of its memory; otherwise it is assumed
 * @param speed step time of this worker as a multiple of the usual one of its kind
 * @param tokensPerMilli tokens of KV memory that become free in a millisecond
 * @param keepsNothing whether the engine seems to run without a prefix cache
 */
record WorkerState(
    PoolModel kind,
    Prefill prefill,
    long assumesAt,
    int decoding,
    double util,
    double room,
    boolean roomReported,
    double speed,
    double tokensPerMilli,
    boolean keepsNothing) {
  /**
   * Prompts without a first token. Tokens are uncached ones.
   *
   * @param startedAt when the present step started; it may lie in the future, if the engine
   *     finishes a decode step first
   * @param requests in the present step
   * @param stepTokens of the present step
   * @param lateTokens of prompts whose step has ended without their first token
   * @param queued requests that wait for a later step
   * @param queuedTokens tokens that wait for a later step
   */
  record Prefill(
      long startedAt,
      int requests,
      double stepTokens,
      double lateTokens,
      int queued,
      double queuedTokens) {
    /** Tokens that have yet to be computed. */
    double tokens() {
      return stepTokens + lateTokens + queuedTokens;
    }
  }

  /** What a worker does when a request is placed there. */
  enum Phase {
    /** Nothing: a step starts at once. */
    FREE,
    /** It decodes: a step starts after the decode step. */
    DECODING,
    /** It computes prompts: the request waits for the next step. */
    PREFILLING
  }

  Phase phase() {
    if (prefill.tokens() > 0) {
      return Phase.PREFILLING;
    }
    return decoding > 0 ? Phase.DECODING : Phase.FREE;
  }

  WorkerState withSpeed(double other) {
    return new WorkerState(
        kind,
        prefill,
        assumesAt,
        decoding,
        util,
        room,
        roomReported,
        other,
        tokensPerMilli,
        keepsNothing);
  }
}
