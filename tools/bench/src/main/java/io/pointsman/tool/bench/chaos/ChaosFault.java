package io.pointsman.tool.bench.chaos;

import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import org.jspecify.annotations.Nullable;

/** Kinds of engine faults, each with its range of durations in milliseconds. */
enum ChaosFault {
  /** The process dies with all its connections, then restarts. */
  KILL(1000, 3000),
  /** The engine accepts no new connection; running requests continue. */
  REFUSE(1000, 3000),
  /** The engine stops entirely: streams stall, requests and probes hang. Then it continues. */
  FREEZE(1000, 5000),
  /** The engine accepts new requests and never answers them; it answers probes. */
  HANG(1000, 3000, ScheduledFault.always(new Fault.Hang(0))),
  /** The engine answers new requests with status 500. */
  ERROR(1000, 3000, ScheduledFault.always(new Fault.Status(500, 0))),
  /** The engine answers new requests with status 503 and Retry-After. */
  BUSY(1000, 3000, ScheduledFault.always(new Fault.Status(503, 1))),
  /** The engine resets every second new request before any response byte. */
  RESET(
      1000, 3000, ScheduledFault.always(new Fault.ResetAfterBytes(0, false)).withProbability(0.5)),
  /** The engine resets every second new stream in the middle of its events. */
  CUT(
      1000,
      3000,
      ScheduledFault.always(new Fault.ResetAfterBytes(900, false))
          .on(Traffic.STREAM_PATH)
          .withProbability(0.5)),
  /** The engine sends a malformed chunk in every second new stream. */
  GARBAGE(
      1000,
      3000,
      ScheduledFault.always(new Fault.MalformedChunk())
          .on(Traffic.STREAM_PATH)
          .withProbability(0.5)),
  /** First tokens are 800 ms late. */
  SLOW(1000, 3000, ScheduledFault.always(new Fault.SlowFirstToken(800)));

  private final int leastMillis;
  private final int mostMillis;

  @SuppressWarnings("ImmutableEnumChecker") // Failure is a record of records of numbers.
  private final @Nullable ScheduledFault failure;

  ChaosFault(int leastMillis, int mostMillis) {
    this(leastMillis, mostMillis, null);
  }

  /**
   * Creates a kind of fault.
   *
   * @param failure entry for the engine's failure table; null if the fault concerns the whole
   *     engine
   */
  ChaosFault(int leastMillis, int mostMillis, @Nullable ScheduledFault failure) {
    this.leastMillis = leastMillis;
    this.mostMillis = mostMillis;
    this.failure = failure;
  }

  int leastMillis() {
    return leastMillis;
  }

  int mostMillis() {
    return mostMillis;
  }

  /** True if the fault can end a stream that has begun. */
  boolean endsStreams() {
    return this == KILL || this == FREEZE || this == CUT || this == GARBAGE;
  }

  /** Entry for the engine's failure table; null if the fault concerns the whole engine. */
  @Nullable ScheduledFault failure() {
    return failure;
  }
}
