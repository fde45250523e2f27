package io.pointsman.replay.run;

/**
 * A request that was answered, and by whom.
 *
 * @param arrivedAt when it came, in nanoseconds from the beginning
 * @param placedAt when it was sent to the engine that answered it; later than it came if another
 *     one was lost with it
 * @param firstTokenAt when its first token came
 * @param engine who answered: an index of {@link TimeLine#engines}
 * @param computedTokens prompt tokens that the engine did not find in its cache
 * @param predictedMillis from its placement to its first token, as predicted then; NaN if nothing
 *     was
 */
record Served(
    long arrivedAt,
    long placedAt,
    long firstTokenAt,
    int engine,
    int computedTokens,
    double predictedMillis) {
  double ttftMillis() {
    return (firstTokenAt - arrivedAt) / 1e6;
  }

  /** What {@link #predictedMillis} was to be. */
  double answeredMillis() {
    return (firstTokenAt - placedAt) / 1e6;
  }

  boolean predicted() {
    return !Double.isNaN(predictedMillis);
  }
}
