package io.pointsman.replay.run;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.sim.schedule.EngineLimits;
import io.pointsman.sim.schedule.LatencyModel;
import io.pointsman.sim.schedule.Scheduler;
import io.pointsman.sim.schedule.Sequence;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * One simulated engine with all of its state open to those who are to know it: comparators that
 * routers feed by events and metrics, and the bounds.
 */
public final class SimWorker {
  private final Worker worker;
  private final int index;
  private final int ordinal;
  private final long joinedAt;
  private final Scheduler scheduler;
  private final LatencyModel latency;
  private final Set<Exchange> exchanges = new LinkedHashSet<>();

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
   * @param ordinal how many have joined before
   * @param slowness so many times the usual step time
   */
  SimWorker(
      Worker worker,
      int index,
      int ordinal,
      long joinedAt,
      EngineLimits limits,
      LatencyModel latency,
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

  /** How many have joined before it. */
  int ordinal() {
    return ordinal;
  }

  Presence presence() {
    double left = leftAt == Long.MAX_VALUE ? Double.POSITIVE_INFINITY : leftAt / 1e9;
    return new Presence(index, joinedAt / 1e9, left);
  }

  /** When something will happen on it, in nanoseconds; {@link Scheduler#NEVER} when it is idle. */
  public long next() {
    return next;
  }

  void advance(long now) {
    next = scheduler.advance(now);
  }

  void submit(Exchange exchange, Sequence sequence, long now) {
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

  /** The first token of a request has come. */
  void computed(Exchange exchange, int tokens) {
    computedTokens += tokens;
    leave(coming, exchange);
  }

  void ended(Exchange exchange) {
    exchanges.remove(exchange);
    leave(active, exchange);
  }

  /** Its client has left: the engine stops working on it. */
  void abandoned(Exchange exchange, Sequence sequence) {
    if (!exchange.answered()) {
      leave(coming, exchange);
    }
    ended(exchange);
    scheduler.abort(sequence);
  }

  private static void leave(Map<Long, Integer> blocks, Exchange exchange) {
    for (long hash : exchange.engineBlocks()) {
      blocks.computeIfPresent(hash, (_, users) -> users == 1 ? null : users - 1);
    }
  }

  /** The engine is gone with all that it was doing. */
  List<Exchange> lose(long now) {
    leftAt = now;
    List<Exchange> lost = List.copyOf(exchanges);
    exchanges.clear();
    coming.clear();
    active.clear();
    next = Scheduler.NEVER;
    return lost;
  }

  /** Requests in flight. */
  public int inFlight() {
    return exchanges.size();
  }

  /** Requests in flight, in the order of their arrival. */
  public List<Exchange> exchanges() {
    return new ArrayList<>(exchanges);
  }

  /** Requests without a first token. */
  public int pending() {
    int pending = 0;
    for (Exchange exchange : exchanges) {
      pending += exchange.answered() ? 0 : 1;
    }
    return pending;
  }

  /** Prompt tokens in its cache, as its events tell. */
  public int cached(Exchange request) {
    int blocks = scheduler.cache().known(request.engineBlocks());
    return Math.min(blocks * scheduler.limits().blockSize(), request.inputTokens() - 1);
  }

  /** Prompt tokens in its cache or on the way into it. */
  public int held(Exchange request) {
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

  /** Uncached prompt tokens of requests without a first token, as they were when placed. */
  public long pendingTokens() {
    long tokens = 0;
    for (Exchange exchange : exchanges) {
      tokens += exchange.answered() ? 0 : exchange.uncached();
    }
    return tokens;
  }

  /** Blocks of prompts and answers in flight with this request, those shared counted once. */
  public int activeBlocksWith(Exchange request) {
    int blocks = active.size();
    for (long hash : request.engineBlocks()) {
      blocks += active.containsKey(hash) ? 0 : 1;
    }
    for (Exchange exchange : exchanges) {
      Sequence sequence = exchange.sequence();
      int answer = sequence == null ? 0 : sequence.produced();
      blocks += scheduler.cache().blocksFor(answer);
    }
    return blocks;
  }

  /** The engine's state itself. */
  public Scheduler scheduler() {
    return scheduler;
  }

  /** How long its steps take. */
  public LatencyModel latency() {
    return latency;
  }

  long computedTokens() {
    return computedTokens;
  }

  int requests() {
    return requests;
  }
}
