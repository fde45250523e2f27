package io.pointsman.bench.live;

/**
 * What became of one request. Times are as {@link System#nanoTime}.
 *
 * @param index of the request in the trace
 * @param due when it should have been sent
 * @param sent when it was
 * @param first when the first token came
 * @param end when the answer was complete
 * @param promptTokens as the engine counted them
 * @param cachedTokens of those, found in its cache
 * @param problem why it counts as an error, and its times mean nothing; empty if it does not
 */
record Course(
    int index,
    long due,
    long sent,
    long first,
    long end,
    int promptTokens,
    int cachedTokens,
    String problem) {

  static Course failed(int index, long due, String problem) {
    return new Course(index, due, due, due, due, 0, 0, problem);
  }

  boolean answered() {
    return problem.isEmpty();
  }
}
