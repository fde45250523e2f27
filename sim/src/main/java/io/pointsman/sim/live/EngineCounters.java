package io.pointsman.sim.live;

import io.pointsman.sim.schedule.RejectReason;
import java.util.EnumMap;
import java.util.Map;

/** What the engine's HTTP surface has seen of requests that do work. Owned by the event loop. */
public final class EngineCounters {
  private final Map<AbortPhase, Long> aborted = new EnumMap<>(AbortPhase.class);
  private final Map<RejectReason, Long> rejected = new EnumMap<>(RejectReason.class);
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

  /** A request came in. */
  public void began() {
    received++;
    maxInFlight = Math.max(maxInFlight, ++inFlight);
  }

  /** A request is over because its client left. */
  public void abandoned() {
    inFlight--;
  }

  /** A request got its whole answer. */
  public void served() {
    inFlight--;
    served++;
  }

  /** A request was answered with an error or broken off, on purpose or not. */
  public void failed() {
    inFlight--;
    failed++;
  }

  /** A client left. */
  public void aborted(AbortPhase phase) {
    aborted.merge(phase, 1L, Long::sum);
  }

  /** A request was turned away. */
  public void rejected(RejectReason reason) {
    rejected.merge(reason, 1L, Long::sum);
  }

  void finished(boolean byLength) {
    if (byLength) {
      finishedLength++;
    } else {
      finishedStop++;
    }
  }

  /** What became of requests. */
  public EngineState.Requests requests() {
    return new EngineState.Requests(received, served, failed, inFlight, maxInFlight);
  }

  /** Clients that left, by phase. */
  public long abortedCount(AbortPhase phase) {
    return aborted.getOrDefault(phase, 0L);
  }

  /** Requests turned away, by reason. */
  public long rejectedCount(RejectReason reason) {
    return rejected.getOrDefault(reason, 0L);
  }

  /** Sequences that ended because they had said all. */
  public long finishedStop() {
    return finishedStop;
  }

  /** Sequences that ended because of the length asked for. */
  public long finishedLength() {
    return finishedLength;
  }

  /** Requests not yet over. */
  public int inFlight() {
    return inFlight;
  }

  /** Engine time from arrival to first token. */
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
