package io.pointsman.tool.replay.run;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.tool.replay.trace.TraceRequest;
import io.pointsman.tool.sim.cache.PromptOrigin;
import io.pointsman.tool.sim.schedule.Sequence;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One request in progress: its arrival, its placement, and its observed progress. */
public final class ReplayedRequest implements Sequence.Listener {
  private final int index;
  private final TraceRequest request;
  private final long[] engineBlocks;
  private final boolean hitsReported;
  private final long arrivedAt;
  private final Consumer<ReplayedRequest> atEnd;
  private final SimulatedTime time;
  private @Nullable SimWorker worker;
  private @Nullable Lease lease;
  private @Nullable PromptOrigin origin;
  private @Nullable Sequence sequence;
  private int uncached;
  private long placedAt;
  private long deferredNanos;
  private double predictedMillis = Double.NaN;
  private long firstTokenAt = -1;
  private long endedAt = -1;
  private boolean left;

  /**
   * @param hitsReported true if the engine reports its cache hits
   */
  ReplayedRequest(
      int index,
      TraceRequest request,
      long[] engineBlocks,
      boolean hitsReported,
      SimulatedTime time,
      Consumer<ReplayedRequest> atEnd) {
    this.index = index;
    this.request = request;
    this.engineBlocks = engineBlocks;
    this.hitsReported = hitsReported;
    this.time = time;
    arrivedAt = time.nanos();
    this.atEnd = atEnd;
  }

  int index() {
    return index;
  }

  public int inputTokens() {
    return request.inputTokens();
  }

  public int outputTokens() {
    return request.outputTokens();
  }

  /** Hashes of the complete blocks of the prompt, in the engines' block size. */
  public long[] engineBlocks() {
    return engineBlocks;
  }

  /** Sets the token ids of its prompt. */
  void of(PromptOrigin prompt) {
    origin = prompt;
  }

  /** Records that it was deferred in the router before it is sent. */
  void deferred(long nanos) {
    deferredNanos += nanos;
  }

  /** Milliseconds for which it was deferred in the router; 0 if it was not. */
  double deferredMillis() {
    return deferredNanos / 1e6;
  }

  void send(SimWorker worker, Lease lease, double predictedMillis) {
    this.predictedMillis = predictedMillis;
    this.worker = worker;
    this.lease = lease;
    placedAt = time.nanos();
    uncached = request.inputTokens() - worker.cachedOrComputing(this);
    Sequence sent = new Sequence(engineBlocks, request.inputTokens(), request.outputTokens(), this);
    if (origin != null) {
      sent.of(origin);
    }
    sequence = sent;
    worker.submit(this, sent, time.nanos());
  }

  @Override
  public void progressed(Sequence sequence) {
    SimWorker on = worker;
    Lease under = lease;
    if (on == null || under == null || sequence != this.sequence) {
      return;
    }
    if (firstTokenAt < 0) {
      firstTokenAt = time.nanos();
      on.computed(this, request.inputTokens() - sequence.cachedTokens());
      if (request.outputTokens() > 0) {
        under.progressed();
        under.firstToken();
      }
    }
    if (sequence.ended()) {
      endedAt = time.nanos();
      on.ended(this);
      int cached = hitsReported && request.outputTokens() > 0 ? sequence.cachedTokens() : -1;
      under.reported(new Usage(request.inputTokens(), cached, request.outputTokens()));
      under.succeeded();
      atEnd.accept(this);
    }
  }

  /**
   * Records that its client leaves now, unless the response has ended. The engine drops it, and the
   * lease ends without a verdict on the worker.
   */
  void leave() {
    if (endedAt >= 0) {
      return;
    }
    endedAt = time.nanos();
    left = true;
    SimWorker on = worker;
    Lease under = lease;
    Sequence dropped = sequence;
    if (on != null && dropped != null) {
      on.abandoned(this, dropped);
    }
    if (under != null) {
      under.ignored();
    }
  }

  /** Returns true if its client left before the end of the response. */
  boolean left() {
    return left;
  }

  /** Records the loss of its engine: it will be sent again. */
  @Nullable Lease lost() {
    Lease under = lease;
    worker = null;
    lease = null;
    sequence = null;
    firstTokenAt = -1;
    return under;
  }

  /** Prompt tokens that its engine had to compute, as known at placement. */
  public int uncached() {
    return uncached;
  }

  public boolean answered() {
    return firstTokenAt >= 0;
  }

  /** Its sequence in the engine; null before it was sent. */
  public @Nullable Sequence sequence() {
    return sequence;
  }

  /** Its result; to be called after its end. */
  ReplayedResponse served() {
    SimWorker by = worker;
    if (by == null || !answered()) {
      throw new IllegalStateException("request: not answered (expected: one that was)");
    }
    int computed = request.inputTokens() - cachedTokens();
    return new ReplayedResponse(
        arrivedAt, placedAt, firstTokenAt, by.ordinal(), computed, predictedMillis);
  }

  /** Time to first token; time until the client left, if that was earlier. */
  double ttftMillis() {
    return ((answered() ? firstTokenAt : endedAt) - arrivedAt) / 1e6;
  }

  /** Time until the response ended, or the client left. */
  double endToEndMillis() {
    return (endedAt - arrivedAt) / 1e6;
  }

  boolean ended() {
    return endedAt >= 0;
  }

  int cachedTokens() {
    return sequence == null ? 0 : sequence.cachedTokens();
  }
}
