package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/**
 * Report about a request at its end.
 *
 * @param model model of the request; null if it names none. The client chooses it, so it is not a
 *     label
 * @param worker worker of the last attempt; null if there was none
 * @param attempts number of attempts. A repetition after a stale connection does not count
 */
public record RequestReport(
    ClientRequest request,
    @Nullable String model,
    @Nullable Worker worker,
    int attempts,
    ReportedResult result,
    ReportedTimes times,
    ReportedTraffic traffic) {
  /** Time of an event that did not happen. */
  public static final long NEVER = -1;

  /**
   * The answer, as the client received it.
   *
   * @param status status that the client received; 499 if it left before
   * @param reason code of the router's own error, in place of an answer or in it; null if there is
   *     none
   * @param streamed true if the answer was an event stream
   * @param clientLeft true if the client left before the end
   */
  public record ReportedResult(
      int status, Blame blame, @Nullable String reason, boolean streamed, boolean clientLeft) {}

  /**
   * Times in nanoseconds since the request's head was read; {@link #NEVER} if the event did not
   * happen.
   *
   * @param head until the head of the worker's answer arrived
   * @param firstByte time to first token: until the first byte of the body was written to the
   *     client's socket. Events that engines send before they compute do not count
   * @param end until the end
   */
  public record ReportedTimes(long head, long firstByte, long end) {}

  /**
   * Sizes of the request and the answer.
   *
   * @param bytesIn size of the request's body in bytes
   * @param bytesOut bytes of the answer written to the client's socket, including heads and framing
   * @param chunksOut number of relayed reads from the worker; about one per token in a stream
   * @param usage token counts of the worker; unknown unless {@link ProxyListener#readsUsage} or a
   *     learner needs them
   */
  public record ReportedTraffic(long bytesIn, long bytesOut, long chunksOut, Usage usage) {}
}
