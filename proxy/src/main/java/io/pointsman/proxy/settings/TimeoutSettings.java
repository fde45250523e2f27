package io.pointsman.proxy.settings;

import java.time.Duration;

/**
 * How long each part of a request may take. Zero switches a timeout off. They are looked at about
 * ten times within the shortest of them, at least every second.
 *
 * @param firstByte from the request's last byte to the head of the answer, 504; and from there to
 *     the first byte of its body, which engines send behind the head of a stream when the prompt is
 *     computed: breaks the answer off
 * @param idle between two reads of the answer's body; breaks the answer off
 * @param total from the request's head to the end of an answer that is not a stream of events; 504,
 *     or the answer is broken off
 * @param streamTotal the same for a stream of events; while the request's body still comes, the
 *     shorter of the two that is on
 * @param clientHead from a request's first byte to the end of its head; 408
 * @param clientBody between two reads of the request's body; 408
 * @param clientIdle between two requests on one connection, and for a client that does not read
 *     while there is something to read; the connection is closed
 */
public record TimeoutSettings(
    Duration firstByte,
    Duration idle,
    Duration total,
    Duration streamTotal,
    Duration clientHead,
    Duration clientBody,
    Duration clientIdle) {

  public static final TimeoutSettings DEFAULTS =
      new TimeoutSettings(
          Duration.ofSeconds(600),
          Duration.ofSeconds(300),
          Duration.ofSeconds(1800),
          Duration.ZERO,
          Duration.ofSeconds(30),
          Duration.ofSeconds(60),
          Duration.ofSeconds(90));

  public TimeoutSettings {
    check("firstByte", firstByte);
    check("idle", idle);
    check("total", total);
    check("streamTotal", streamTotal);
    check("clientHead", clientHead);
    check("clientBody", clientBody);
    check("clientIdle", clientIdle);
  }

  private static void check(String name, Duration value) {
    if (value.isNegative() || value.compareTo(Duration.ofDays(365)) > 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: 0 to 365 days)");
    }
  }

  /** Whether so many nanoseconds are more than {@code timeout} allows; 0 allows any. */
  public static boolean passed(long nanos, long timeout) {
    return timeout > 0 && nanos > timeout;
  }

  /** The same with other limits on the answer. */
  public TimeoutSettings withAnswer(Duration firstByte, Duration idle) {
    return new TimeoutSettings(
        firstByte, idle, total, streamTotal, clientHead, clientBody, clientIdle);
  }

  /** The same with other limits on the whole exchange. */
  public TimeoutSettings withTotals(Duration total, Duration streamTotal) {
    return new TimeoutSettings(
        firstByte, idle, total, streamTotal, clientHead, clientBody, clientIdle);
  }

  /** The same with other limits on the client. */
  public TimeoutSettings withClient(Duration head, Duration body, Duration idle) {
    return new TimeoutSettings(firstByte, this.idle, total, streamTotal, head, body, idle);
  }
}
