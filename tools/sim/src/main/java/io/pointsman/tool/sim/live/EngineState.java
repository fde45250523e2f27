package io.pointsman.tool.sim.live;

import io.pointsman.tool.sim.cache.BlockCache;
import io.pointsman.tool.sim.schedule.EngineRejection;
import io.pointsman.tool.sim.schedule.EngineTotals;
import io.pointsman.tool.sim.schedule.Scheduler;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The actual state of an engine at one moment. Requests are HTTP requests that do work; sequences
 * are their prompts and choices.
 *
 * @param id the value of {@code x-engine-id}
 * @param requests requests by result
 * @param sequences the batch and the queue
 * @param tokens computed and cached tokens
 * @param kv the KV memory
 * @param aborted clients that left, by phase
 * @param rejected rejected requests, by reason
 */
public record EngineState(
    String id,
    Requests requests,
    Sequences sequences,
    Tokens tokens,
    Kv kv,
    Map<String, Long> aborted,
    Map<String, Long> rejected) {
  /**
   * Requests.
   *
   * @param received total number
   * @param served answered completely with a status below 400
   * @param failed answered with an error, or aborted by an active failure
   * @param inFlight not finished
   * @param maxInFlight maximum at once
   */
  public record Requests(long received, long served, long failed, int inFlight, int maxInFlight) {}

  /**
   * Sequences.
   *
   * @param running in the batch
   * @param waiting not admitted yet
   * @param maxRunning maximum in the batch at once
   * @param maxWaiting maximum waiting at once
   * @param finished completed
   * @param aborted aborted
   */
  public record Sequences(
      int running, int waiting, int maxRunning, int maxWaiting, long finished, long aborted) {}

  /**
   * Tokens.
   *
   * @param cacheQueries prompt tokens of admitted sequences
   * @param cacheHits of those, found in the prefix cache
   * @param generated output tokens
   */
  public record Tokens(long cacheQueries, long cacheHits, long generated) {
    /** Share of prompt tokens found, 0 to 1; 0 without queries. */
    public double hitRate() {
      return cacheQueries == 0 ? 0 : cacheHits / (double) cacheQueries;
    }
  }

  /**
   * KV memory in blocks.
   *
   * @param capacity total number
   * @param pinned used by running sequences
   * @param idle findable and unused
   */
  public record Kv(int capacity, int pinned, int idle) {}

  /** Number of clients that left in a phase. */
  public long abortedIn(AbortPhase phase) {
    return aborted.getOrDefault(phase.label(), 0L);
  }

  /** Total number of clients that left. */
  public long abortedInAll() {
    return aborted.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Total number of rejected requests. */
  public long rejectedInAll() {
    return rejected.values().stream().mapToLong(Long::longValue).sum();
  }

  static EngineState of(EngineCore engine) {
    EngineCounters counters = engine.counters();
    Scheduler scheduler = engine.scheduler();
    EngineTotals totals = scheduler.totals();
    BlockCache cache = scheduler.cache();
    Map<String, Long> aborted = new LinkedHashMap<>();
    for (AbortPhase phase : AbortPhase.values()) {
      aborted.put(phase.label(), counters.abortedCount(phase));
    }
    Map<String, Long> rejected = new LinkedHashMap<>();
    for (EngineRejection reason : EngineRejection.values()) {
      rejected.put(reason.label(), counters.rejectedCount(reason));
    }
    return new EngineState(
        engine.id(),
        counters.requests(),
        new Sequences(
            scheduler.running(),
            scheduler.waiting(),
            totals.maxRunning(),
            totals.maxWaiting(),
            totals.finished(),
            totals.aborted()),
        new Tokens(totals.promptTokens(), totals.cachedTokens(), totals.generatedTokens()),
        new Kv(cache.capacity(), cache.pinnedBlocks(), cache.idleBlocks()),
        aborted,
        rejected);
  }
}
