package io.pointsman.tool.replay.run;

/**
 * An answered request and its engine.
 *
 * @param arrivedAt arrival in nanoseconds from the beginning
 * @param placedAt dispatch to the engine that answered it; later than its arrival if an earlier
 *     engine failed
 * @param firstTokenAt time of its first token
 * @param engine its engine: an index of {@link TimeLine#engines}
 * @param computedTokens prompt tokens that the engine did not find in its cache
 * @param predictedMillis predicted time from placement to the first token; NaN without a prediction
 */
record ReplayedResponse(
    long arrivedAt,
    long placedAt,
    long firstTokenAt,
    int engine,
    int computedTokens,
    double predictedMillis) {
  double ttftMillis() {
    return (firstTokenAt - arrivedAt) / 1e6;
  }

  /** The measured value for {@link #predictedMillis}. */
  double answeredMillis() {
    return (firstTokenAt - placedAt) / 1e6;
  }

  boolean predicted() {
    return !Double.isNaN(predictedMillis);
  }
}
