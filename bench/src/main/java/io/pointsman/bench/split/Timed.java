package io.pointsman.bench.split;

import io.pointsman.bench.wire.Wire;
import java.util.Arrays;
import java.util.List;

/**
 * One streamed answer.
 *
 * @param firstMillis from the request to the first byte of the answer's body
 * @param tokenMillis from the request to each event with a token
 */
record Timed(double firstMillis, List<Double> tokenMillis) {
  /** The events after the last token: the finish reason, and the end. */
  private static final int CLOSING = 2;

  static Timed of(long begin, Wire.Reply reply) {
    List<Long> events = reply.eventNanos();
    return new Timed(
        (reply.firstNanos() - begin) / 1e6,
        events.subList(0, Math.max(0, events.size() - CLOSING)).stream()
            .map(at -> (at - begin) / 1e6)
            .toList());
  }

  /**
   * How much later each token came than the earliest one of its answer lets expect, in
   * milliseconds: an engine makes one every {@code step}, so one that came later was held up on its
   * way.
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
