package io.pointsman.tool.bench.split;

import io.pointsman.tool.bench.wire.Wire;
import java.util.Arrays;
import java.util.List;

/**
 * Times of one streamed response.
 *
 * @param firstMillis time from the request to the first body byte, in milliseconds
 * @param tokenMillis times from the request to each token event, in milliseconds
 */
record Timed(double firstMillis, List<Double> tokenMillis) {
  /** Number of events after the last token: finish reason and end mark. */
  private static final int CLOSING = 2;

  static Timed of(long begin, Wire.TimedReply reply) {
    List<Long> events = reply.eventNanos();
    return new Timed(
        (reply.firstNanos() - begin) / 1e6,
        events.subList(0, Math.max(0, events.size() - CLOSING)).stream()
            .map(at -> (at - begin) / 1e6)
            .toList());
  }

  /**
   * Delay of each token in milliseconds. An engine makes one token per {@code step}; the earliest
   * token defines the schedule. A later token was delayed on its way.
   */
  List<Double> late(double step) {
    double origin = Double.MAX_VALUE;
    for (int i = 0; i < tokenMillis.size(); i++) {
      origin = Math.min(origin, tokenMillis.get(i) - i * step);
    }
    double[] late = new double[tokenMillis.size()];
    for (int i = 0; i < late.length; i++) {
      late[i] = tokenMillis.get(i) - i * step - origin;
    }
    return Arrays.stream(late).boxed().toList();
  }
}
