package io.pointsman.tool.bench.live;

/**
 * Result of one request. Times are values of {@link System#nanoTime}.
 *
 * @param index position of the request in the trace
 * @param due scheduled time of sending
 * @param sent time of sending
 * @param first time of the first token
 * @param end time of the complete response
 * @param promptTokens prompt tokens, as the engine counted them
 * @param cachedTokens prompt tokens that the engine found in its cache
 * @param problem the error, which makes the times meaningless; empty without error
 */
record RequestTimes(
    int index,
    long due,
    long sent,
    long first,
    long end,
    int promptTokens,
    int cachedTokens,
    String problem) {

  static RequestTimes failed(int index, long due, String problem) {
    return new RequestTimes(index, due, due, due, due, 0, 0, problem);
  }

  boolean answered() {
    return problem.isEmpty();
  }
}
