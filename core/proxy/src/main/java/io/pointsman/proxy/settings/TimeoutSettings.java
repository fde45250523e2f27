package io.pointsman.proxy.settings;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;

/**
 * Timeouts for the parts of a request; zero disables a timeout. They are checked about ten times
 * within the shortest of them, at least once per second.
 *
 * @param firstByte maximum time from the request's last byte to the head of the answer, with status
 *     504. Also the maximum time from the head to the first byte of the body; the answer is then
 *     cut. Engines send the head of a stream before they compute the prompt
 * @param idle maximum time between two reads of the answer's body; the answer is cut
 * @param total maximum time from the request's head to the end of an answer without streaming;
 *     status 504, or the answer is cut
 * @param streamTotal the same for an event stream. While the request's body is arriving, the
 *     shorter of the enabled ones applies
 * @param clientHead maximum time from a request's first byte to the end of its head; status 408
 * @param clientBody maximum time between two reads of the request's body; status 408
 * @param clientIdle maximum time between two requests on one connection, and for a client that does
 *     not read its answer; the connection is closed
 */
@RecordBuilder
public record TimeoutSettings(
    Duration firstByte,
    Duration idle,
    Duration total,
    Duration streamTotal,
    Duration clientHead,
    Duration clientBody,
    Duration clientIdle)
    implements TimeoutSettingsBuilder.With {

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

  /**
   * True if {@code nanos} exceeds {@code timeout}, both in nanoseconds; a timeout of 0 never
   * expires.
   */
  public static boolean passed(long nanos, long timeout) {
    return timeout > 0 && nanos > timeout;
  }

  /** Copy with other timeouts for the answer. */
  public TimeoutSettings withAnswer(Duration firstByte, Duration idle) {
    return with().firstByte(firstByte).idle(idle).build();
  }

  /** Copy with other timeouts for the complete exchange. */
  public TimeoutSettings withTotals(Duration total, Duration streamTotal) {
    return with().total(total).streamTotal(streamTotal).build();
  }

  /** Copy with other timeouts for the client. */
  public TimeoutSettings withClient(Duration head, Duration body, Duration idle) {
    return with().clientHead(head).clientBody(body).clientIdle(idle).build();
  }
}
