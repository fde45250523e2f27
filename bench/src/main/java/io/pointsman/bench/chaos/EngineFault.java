package io.pointsman.bench.chaos;

import io.pointsman.sim.failure.Failure;
import io.pointsman.sim.failure.Fault;
import org.jspecify.annotations.Nullable;

/** What can befall an engine, and for how long it lasts. */
enum EngineFault {
  /** The process dies with all its connections, and is started again. */
  KILL(1000, 3000),
  /** No new connection is accepted; what is in flight goes on. */
  REFUSE(1000, 3000),
  /** Nothing moves: streams stall, requests and probes hang; then it goes on. */
  FREEZE(1000, 5000),
  /** New requests are taken and never answered; probes are. */
  HANG(1000, 3000, Failure.always(new Fault.Hang(0))),
  /** New requests are answered with 500. */
  ERROR(1000, 3000, Failure.always(new Fault.Status(500, 0))),
  /** New requests are answered with 503 and Retry-After. */
  BUSY(1000, 3000, Failure.always(new Fault.Status(503, 1))),
  /** Every second new request is met with a reset before any answer. */
  RESET(1000, 3000, Failure.always(new Fault.ResetAfterBytes(0, false)).withProbability(0.5)),
  /** Every second new stream is broken off within its events. */
  CUT(
      1000,
      3000,
      Failure.always(new Fault.ResetAfterBytes(900, false))
          .on(Traffic.STREAM_PATH)
          .withProbability(0.5)),
  /** Every second new stream has a chunk that is no chunk. */
  GARBAGE(
      1000,
      3000,
      Failure.always(new Fault.MalformedChunk()).on(Traffic.STREAM_PATH).withProbability(0.5)),
  /** First tokens come 800 ms late. */
  SLOW(1000, 3000, Failure.always(new Fault.SlowFirstToken(800)));

  private final int leastMillis;
  private final int mostMillis;

  @SuppressWarnings("ImmutableEnumChecker") // a record of records of numbers
  private final @Nullable Failure failure;

  EngineFault(int leastMillis, int mostMillis) {
    this(leastMillis, mostMillis, null);
  }

  /**
   * @param failure what the engine's table of failures is given, if that makes the fault
   */
  EngineFault(int leastMillis, int mostMillis, @Nullable Failure failure) {
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

  /** Whether it can end a stream that has begun. */
  boolean endsStreams() {
    return this == KILL || this == FREEZE || this == CUT || this == GARBAGE;
  }

  /** The failure that makes it; null for those that concern the whole engine. */
  @Nullable Failure failure() {
    return failure;
  }
}
