package io.pointsman.tool.sim.live;

import io.pointsman.tool.sim.schedule.EngineRejection;
import java.util.EnumMap;
import java.util.Map;

/**
 * Counters of the requests that do work, at the engine's HTTP interface. Owned by the event loop.
 */
public final class EngineCounters {
  private final Map<AbortPhase, Long> aborted = new EnumMap<>(AbortPhase.class);
  private final Map<EngineRejection, Long> rejected = new EnumMap<>(EngineRejection.class);
  private final Histogram timeToFirstToken = new Histogram();
  private final Histogram endToEnd = new Histogram();
  private final Histogram interToken = new Histogram();
  private long received;
  private long served;
  private long failed;
  private long finishedStop;
  private long finishedLength;
  private int inFlight;
  private int maxInFlight;

  EngineCounters() {}

  /** Counts a received request. */
  public void began() {
    received++;
    maxInFlight = Math.max(maxInFlight, ++inFlight);
  }

  /** Counts the end of a request because its client left. */
  public void abandoned() {
    inFlight--;
  }

  /** Counts a complete response. */
  public void served() {
    inFlight--;
    served++;
  }

  /** Counts a response with an error, or an aborted one, intended or not. */
  public void failed() {
    inFlight--;
    failed++;
  }

  /** Counts a client that left. */
  public void aborted(AbortPhase phase) {
    aborted.merge(phase, 1L, Long::sum);
  }

  /** Counts a rejected request. */
  public void rejected(EngineRejection reason) {
    rejected.merge(reason, 1L, Long::sum);
  }

  void finished(boolean byLength) {
    if (byLength) {
      finishedLength++;
    } else {
      finishedStop++;
    }
  }

  /** Requests by result. */
  public EngineState.Requests requests() {
    return new EngineState.Requests(received, served, failed, inFlight, maxInFlight);
  }

  /** Clients that left, by phase. */
  public long abortedCount(AbortPhase phase) {
    return aborted.getOrDefault(phase, 0L);
  }

  /** Rejected requests, by reason. */
  public long rejectedCount(EngineRejection reason) {
    return rejected.getOrDefault(reason, 0L);
  }

  /** Sequences that ended by themselves. */
  public long finishedStop() {
    return finishedStop;
  }

  /** Sequences that ended at the requested length. */
  public long finishedLength() {
    return finishedLength;
  }

  /** Requests in flight. */
  public int inFlight() {
    return inFlight;
  }

  /** Engine time from arrival to the first token. */
  public Histogram timeToFirstToken() {
    return timeToFirstToken;
  }

  /** Engine time from arrival to the last token. */
  public Histogram endToEnd() {
    return endToEnd;
  }

  /** Mean engine time between tokens of a sequence. */
  public Histogram interToken() {
    return interToken;
  }

  void reset() {
    aborted.clear();
    rejected.clear();
    timeToFirstToken.reset();
    endToEnd.reset();
    interToken.reset();
    received = 0;
    served = 0;
    failed = 0;
    finishedStop = 0;
    finishedLength = 0;
    maxInFlight = inFlight;
  }
}
