package io.pointsman.tool.replay.run;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.tool.sim.schedule.EngineLimits;
import io.pointsman.tool.sim.schedule.Scheduler;
import io.pointsman.tool.sim.schedule.Sequence;
import io.pointsman.tool.sim.schedule.SimLatencyModel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * One simulated engine with its whole state accessible. Comparators and bounds use it: real routers
 * learn parts of it from events and metrics.
 */
public final class SimWorker {
  private final Worker worker;
  private final int index;
  private final int ordinal;
  private final long joinedAt;
  private final Scheduler scheduler;
  private final SimLatencyModel latency;
  private final Set<ReplayedRequest> exchanges = new LinkedHashSet<>();

  /** Prompt blocks dispatched and not computed yet, with the number of their requests. */
  private final Map<Long, Integer> coming = new HashMap<>();

  /** Prompt blocks of requests in flight, with the number of their requests. */
  private final Map<Long, Integer> active = new HashMap<>();

  private long next = Scheduler.NEVER;
  private long computedTokens;
  private int requests;
  private long leftAt = Long.MAX_VALUE;

  /**
   * @param index its number, as in {@code --change}
   * @param ordinal number of engines that joined before
   * @param slowness factor of the usual step time
   */
  SimWorker(
      Worker worker,
      int index,
      int ordinal,
      long joinedAt,
      EngineLimits limits,
      SimLatencyModel latency,
      double slowness) {
    this.worker = worker;
    this.index = index;
    this.ordinal = ordinal;
    this.joinedAt = joinedAt;
    this.latency = step -> Math.round(latency.stepNanos(step) * slowness);
    scheduler = new Scheduler(limits, this.latency);
  }

  public Worker worker() {
    return worker;
  }

  /** Number of engines that joined before it. */
  int ordinal() {
    return ordinal;
  }

  Presence presence() {
    double left = leftAt == Long.MAX_VALUE ? Double.POSITIVE_INFINITY : leftAt / 1e9;
    return new Presence(index, joinedAt / 1e9, left);
  }

  /** Time of its next event in nanoseconds; {@link Scheduler#NEVER} if it is idle. */
  public long next() {
    return next;
  }

  void advance(long now) {
    next = scheduler.advance(now);
  }

  void submit(ReplayedRequest exchange, Sequence sequence, long now) {
    exchanges.add(exchange);
    requests++;
    for (long hash : exchange.engineBlocks()) {
      coming.merge(hash, 1, Integer::sum);
      active.merge(hash, 1, Integer::sum);
    }
    scheduler.submit(sequence, now);
    if (next == Scheduler.NEVER) {
      advance(now);
    }
  }

  /** Records the first token of a request. */
  void computed(ReplayedRequest exchange, int tokens) {
    computedTokens += tokens;
    leave(coming, exchange);
  }

  void ended(ReplayedRequest exchange) {
    exchanges.remove(exchange);
    leave(active, exchange);
  }

  /** Records that a client has left: the engine stops working on its request. */
  void abandoned(ReplayedRequest exchange, Sequence sequence) {
    if (!exchange.answered()) {
      leave(coming, exchange);
    }
    ended(exchange);
    scheduler.abort(sequence);
  }

  private static void leave(Map<Long, Integer> blocks, ReplayedRequest exchange) {
    for (long hash : exchange.engineBlocks()) {
      blocks.computeIfPresent(hash, (_, users) -> users == 1 ? null : users - 1);
    }
  }

  /** Records the loss of the engine with all requests in flight. */
  List<ReplayedRequest> lose(long now) {
    leftAt = now;
    List<ReplayedRequest> lost = List.copyOf(exchanges);
    exchanges.clear();
    coming.clear();
    active.clear();
    next = Scheduler.NEVER;
    return lost;
  }

  /** Number of requests in flight. */
  public int inFlight() {
    return exchanges.size();
  }

  /** Requests in flight, in the order of arrival. */
  public List<ReplayedRequest> exchanges() {
    return new ArrayList<>(exchanges);
  }

  /** Number of requests without a first token. */
  public int pending() {
    int pending = 0;
    for (ReplayedRequest exchange : exchanges) {
      pending += exchange.answered() ? 0 : 1;
    }
    return pending;
  }

  /** Prompt tokens in its cache, as its events report. */
  public int cached(ReplayedRequest request) {
    int blocks = scheduler.cache().known(request.engineBlocks());
    return Math.min(blocks * scheduler.limits().blockSize(), request.inputTokens() - 1);
  }

  /** Prompt tokens in its cache or being computed for it. */
  public int cachedOrComputing(ReplayedRequest request) {
    long[] hashes = request.engineBlocks();
    if (!scheduler.limits().rules().prefixCache()) {
      return 0;
    }
    int blocks = scheduler.cache().known(hashes);
    while (blocks < hashes.length && coming.containsKey(hashes[blocks])) {
      blocks++;
    }
    return Math.min(blocks * scheduler.limits().blockSize(), request.inputTokens() - 1);
  }

  /** Uncached prompt tokens, as of placement, of requests without a first token. */
  public long pendingTokens() {
    long tokens = 0;
    for (ReplayedRequest exchange : exchanges) {
      tokens += exchange.answered() ? 0 : exchange.uncached();
    }
    return tokens;
  }

  /**
   * Blocks of prompts and responses in flight including this request, with common blocks counted
   * once.
   */
  public int activeBlocksWith(ReplayedRequest request) {
    int blocks = active.size();
    for (long hash : request.engineBlocks()) {
      blocks += active.containsKey(hash) ? 0 : 1;
    }
    for (ReplayedRequest exchange : exchanges) {
      Sequence sequence = exchange.sequence();
      int answer = sequence == null ? 0 : sequence.produced();
      blocks += scheduler.cache().blocksFor(answer);
    }
    return blocks;
  }

  /** The engine's internal state. */
  public Scheduler scheduler() {
    return scheduler;
  }

  /** The model of its step times. */
  public SimLatencyModel latency() {
    return latency;
  }

  long computedTokens() {
    return computedTokens;
  }

  int requests() {
    return requests;
  }
}
