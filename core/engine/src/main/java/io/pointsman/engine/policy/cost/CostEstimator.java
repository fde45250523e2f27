package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.cost.latency.Expectation;
import io.pointsman.engine.policy.cost.latency.LatencyModel;
import io.pointsman.engine.policy.cost.latency.LatencyModel.Coefficients;
import io.pointsman.engine.policy.cost.latency.PoolModel;
import io.pointsman.engine.policy.cost.latency.PrefillState;
import io.pointsman.engine.policy.cost.latency.WorkerPhase;
import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * Estimates the cost of one request on workers of one kind. Values that are the same for all of
 * them are read once. For one thread; reusable.
 */
public final class CostEstimator {
  private @Nullable KindModel kind;
  private CostTerms terms = CostTerms.ALL;
  private PrefixBlocks prefix = PrefixBlocks.NONE;
  private Coefficients latency = LatencyModel.PRIOR;
  private long now;
  private int tokens;
  private double price;
  private double rounding;
  private double stepTokens;
  private double decodeMillis;
  private double freeDelay;
  private double decodeDelay;
  private double prefillDelay;

  /** Of the last worker with a computed cost. */
  private double waits;

  /** Prepares estimates for a request on workers of one kind. */
  public CostEstimator about(KindModel kind, PrefixBlocks prefix, long now) {
    this.kind = kind;
    this.prefix = prefix;
    this.now = now;
    terms = kind.terms();
    PoolModel pool = kind.pool();
    tokens = pool.tokens(prefix);
    price = terms.waiting() ? pool.price() : pool.priceFloor();
    rounding = terms.rounding() ? kind.cache().rounding() : 0;
    latency = pool.latency().present();
    stepTokens = pool.latency().stepTokens();
    decodeMillis =
        terms.decodeMemory() * pool.prefillShare() * pool.meanAnswer() * latency.decode();
    freeDelay = pool.delay(WorkerPhase.FREE);
    decodeDelay = pool.delay(WorkerPhase.DECODING);
    prefillDelay = pool.delay(WorkerPhase.PREFILLING);
    return this;
  }

  /** Drops the references to the request and to the kind. */
  void forget() {
    kind = null;
    prefix = PrefixBlocks.NONE;
  }

  /** Returns the kind of the compared workers; null before the first call to {@link #about}. */
  @Nullable KindModel kind() {
    return kind;
  }

  /**
   * Returns the cost of the request on a worker in milliseconds: its predicted time to first token,
   * and the time that other requests lose.
   *
   * @param cached blocks of the prompt that the worker has cached
   */
  double cost(WorkerState at, int cached) {
    double uncached = uncached(at, cached);
    double own = own(at, uncached);
    double computed = computed(at, own, uncached);
    double withRoom = withRoom(at, uncached);
    waits = full(at, withRoom) ? Math.max(computed, withRoom) - own : 0;
    return Math.max(computed, withRoom) + priced(at, own, uncached);
  }

  /**
   * Returns the time that the request would wait for others on the worker of the last {@link
   * #cost}, in milliseconds. 0 if an early placement has an advantage.
   */
  double waits() {
    return waits;
  }

  /**
   * Returns true if a request has no advantage from an early placement. The worker has a whole
   * further step queued, or too little free memory. Memory counts only if its size is reported:
   * with too small an assumed size, all workers would seem full.
   */
  private boolean full(WorkerState at, double withRoom) {
    boolean busy = at.prefill().tokens() > 0 || at.decoding() > 0;
    return at.prefill().queuedTokens() >= stepTokens || (at.roomReported() && withRoom > 0 && busy);
  }

  /** Returns the cost of the request on a worker in parts. */
  public Estimate estimate(WorkerState at, int cached) {
    double uncached = uncached(at, cached);
    double own = own(at, uncached);
    double price = priced(at, own, uncached);
    return new Estimate(tokens, (int) uncached, own, ttft(at, own, uncached), price);
  }

  /** Returns the predicted time to the first token on a worker, in milliseconds. */
  double ttft(WorkerState at, int cached) {
    double uncached = uncached(at, cached);
    return ttft(at, own(at, uncached), uncached);
  }

  /**
   * Returns the time that the prompt adds to full steps with other prompts, in milliseconds. A
   * short prompt thus pays only its part of the fixed time of a step.
   */
  double stepMillis(WorkerState at, int held) {
    double uncached = uncached(at, held);
    return at.speed() * latency.millis(uncached, uncached / stepTokens, at.util());
  }

  /** Returns the expected first token on a worker. */
  Expectation expect(WorkerState at, int cached) {
    WorkerPhase phase = at.phase();
    double uncached = uncached(at, cached);
    double own = own(at, uncached);
    double ttft = ttft(at, own, uncached);
    return new Expectation(ttft, own, delay(phase), phase, uncached > at.room());
  }

  private double delay(WorkerPhase phase) {
    return switch (phase) {
      case FREE -> freeDelay;
      case DECODING -> decodeDelay;
      case PREFILLING -> prefillDelay;
    };
  }

  private double uncached(WorkerState at, int cached) {
    return cached == 0 || (at.keepsNothing() && terms.emptyCaches())
        ? tokens
        : Math.clamp(tokens * (1 - prefix.ratio(cached)) + rounding, 1, Math.max(1, tokens));
  }

  private double own(WorkerState at, double uncached) {
    return millis(at, uncached, at.util());
  }

  /** Returns the time that other requests lose, in milliseconds. */
  private double priced(WorkerState at, double own, double uncached) {
    double later = (price + terms.decodePrice() * at.decoding()) * own;
    double sameStep =
        terms.sameStep() * sharing(at.prefill()) * at.speed() * latency.more(uncached);
    return later + sameStep + decodeMillis * at.speed() * at.util();
  }

  /** Returns the number of requests in the same step: their first tokens wait for its end. */
  private double sharing(PrefillState prefill) {
    double share = Math.min(1, stepTokens / Math.max(1, prefill.queuedTokens()));
    int joined = now - prefill.startedAt() < 0 ? prefill.requests() : 0;
    return joined + share * prefill.queued();
  }

  private double ttft(WorkerState at, double own, double uncached) {
    return Math.max(computed(at, own, uncached), withRoom(at, uncached));
  }

  /** Returns the time to the first token if there is enough memory, in milliseconds. */
  private double computed(WorkerState at, double own, double uncached) {
    PrefillState prefill = at.prefill();
    WorkerPhase phase = at.phase();
    double delay = delay(phase);
    if (phase != WorkerPhase.PREFILLING) {
      return own + delay;
    }
    double gone = (now - prefill.startedAt()) / 1e6;
    if (gone < 0 && prefill.stepTokens() < stepTokens) {
      return millis(at, prefill.stepTokens() + uncached, at.util()) - gone + delay;
    }
    return stepLeft(at, gone) + millis(at, prefill.queuedTokens() + uncached, at.util()) + delay;
  }

  /**
   * Returns the time to the end of the current step, in milliseconds. A late step is expected to
   * need as much longer as it is late, but at most a whole step. So a hanging worker is no better
   * than one that has just started a step.
   */
  private double stepLeft(WorkerState at, double gone) {
    PrefillState prefill = at.prefill();
    double whole = millis(at, prefill.stepTokens() + prefill.lateTokens(), at.util());
    double left = whole - gone;
    if (left < 0) {
      return terms.lateSteps() ? Math.min(whole, -left) : 0;
    }
    return left;
  }

  /**
   * Returns the time until there is memory for the prompt and it is computed, in milliseconds; 0 if
   * there is enough memory.
   */
  private double withRoom(WorkerState at, double uncached) {
    double excess = uncached - at.room();
    return excess <= 0 || !terms.memoryWait()
        ? 0
        : excess / at.tokensPerMilli() + millis(at, uncached, 1);
  }

  private double millis(WorkerState at, double uncached, double util) {
    double steps = LatencyModel.steps(uncached, stepTokens);
    return at.speed() * latency.millis(uncached, steps, util);
  }
}
