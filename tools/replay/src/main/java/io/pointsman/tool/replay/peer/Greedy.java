package io.pointsman.tool.replay.peer;

import io.pointsman.engine.env.Ticker;
import io.pointsman.tool.replay.run.ReplayedRequest;
import io.pointsman.tool.replay.run.SimWorker;
import io.pointsman.tool.sim.schedule.Scheduler;
import io.pointsman.tool.sim.schedule.Sequence;
import io.pointsman.tool.sim.schedule.SimLatencyModel.Step;
import java.util.ArrayList;
import java.util.List;

/**
 * A bound: the time to first token from the engine's exact state and its own step times, optionally
 * with a price on new work. No router can know all of this.
 */
final class Greedy implements Scorer {
  private final Ticker ticker;
  private final double priceFloor;

  /**
   * @param priceFloor price of a millisecond of own prefill if no request waits; negative for none
   */
  Greedy(Ticker ticker, double priceFloor) {
    this.ticker = ticker;
    this.priceFloor = priceFloor;
  }

  @Override
  public double cost(SimWorker engine, ReplayedRequest request) {
    int uncached = request.inputTokens() - engine.cachedOrComputing(request);
    double own = prefillMillis(engine, uncached);
    double ttft = Math.max(roomMillis(engine, uncached + request.outputTokens()), 0);
    ttft += stepLeftMillis(engine) + prefillMillis(engine, ahead(engine) + uncached);
    if (priceFloor < 0) {
      return ttft;
    }
    int waiting = Math.max(0, engine.pending() - 1);
    return ttft + (priceFloor + waiting + 0.02 * (engine.inFlight() - engine.pending())) * own;
  }

  private double stepLeftMillis(SimWorker engine) {
    return engine.next() == Scheduler.NEVER ? 0 : (engine.next() - ticker.nanos()) / 1e6;
  }

  /** Prompt tokens that no step has taken yet. */
  private static long ahead(SimWorker engine) {
    long tokens = 0;
    for (ReplayedRequest exchange : engine.exchanges()) {
      Sequence sequence = exchange.sequence();
      if (sequence != null && !exchange.answered()) {
        boolean queued = sequence.phase() == Sequence.Phase.QUEUED;
        tokens += queued ? exchange.uncached() : sequence.uncomputedTokens();
      }
    }
    return tokens;
  }

  private static double prefillMillis(SimWorker engine, long tokens) {
    long context = 0;
    int decoding = 0;
    for (ReplayedRequest exchange : engine.exchanges()) {
      Sequence sequence = exchange.sequence();
      if (sequence != null && exchange.answered()) {
        context += sequence.promptTokens() + sequence.produced();
        decoding++;
      }
    }
    int most = engine.scheduler().limits().maxBatchedTokens() - decoding;
    long capacity = engine.scheduler().limits().capacityTokens();
    double millis = 0;
    for (long left = tokens; left > 0; left -= most) {
      Step step = new Step((int) Math.min(most, left), decoding, context, capacity);
      millis += engine.latency().stepNanos(step) / 1e6;
    }
    return millis;
  }

  /** Milliseconds until enough decoding sequences have ended for {@code tokens} more to fit. */
  private static double roomMillis(SimWorker engine, long tokens) {
    Scheduler scheduler = engine.scheduler();
    long waiting = 0;
    List<Sequence> decoding = new ArrayList<>();
    for (ReplayedRequest exchange : engine.exchanges()) {
      Sequence sequence = exchange.sequence();
      if (sequence == null) {
        continue;
      }
      if (sequence.phase() == Sequence.Phase.QUEUED) {
        waiting += exchange.uncached() + sequence.outputTokens();
      } else {
        decoding.add(sequence);
      }
    }
    long block = scheduler.limits().blockSize();
    long free =
        scheduler.limits().capacityTokens() - scheduler.cache().pinnedBlocks() * block - waiting;
    decoding.sort((a, b) -> Integer.compare(left(a), left(b)));
    int next = 0;
    double millis = 0;
    while (free < tokens && next < decoding.size()) {
      Sequence ends = decoding.get(next++);
      free += ends.totalTokens();
      millis = left(ends) * 35.0;
    }
    return millis;
  }

  private static int left(Sequence sequence) {
    return sequence.outputTokens() - sequence.produced();
  }
}
