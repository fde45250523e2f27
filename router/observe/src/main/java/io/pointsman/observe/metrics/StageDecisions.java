package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Counts decisions by prefix and by session for each stage of a request, with the terms of
 * vllm-router 0.1.17. As there, a series starts with its first count. Counting allocates nothing.
 */
final class StageDecisions {
  private static final String CACHE_AWARE = "cache_aware";
  private static final String KV_AWARE = "kv_aware";

  private enum PrefixOutcome {
    PREFIX_HIT,
    PREFIX_MISS,
    LOAD_IMBALANCE,
    PREFIX_COST,
    MISSING_TOKENS,
    UNVERIFIED_IDENTITY,
    STICKY_HIT
  }

  private enum SessionOutcome {
    STICKY_HIT,
    BIND,
    REBIND,
    CAPACITY_BYPASS,
    NO_SESSION
  }

  private final Map<String, Map<Role, Map<PrefixOutcome, LongAdder>>> byPrefix =
      new LinkedHashMap<>();

  /** Only for decode workers; other roles have no such series. */
  private final Map<SessionOutcome, LongAdder> bySession = adders(SessionOutcome.class);

  StageDecisions() {
    for (String policy : new String[] {CACHE_AWARE, KV_AWARE}) {
      Map<Role, Map<PrefixOutcome, LongAdder>> ofRoles = new EnumMap<>(Role.class);
      for (Role role : Role.values()) {
        ofRoles.put(role, adders(PrefixOutcome.class));
      }
      byPrefix.put(policy, ofRoles);
    }
  }

  private static <E extends Enum<E>> Map<E, LongAdder> adders(Class<E> outcomes) {
    Map<E, LongAdder> adders = new EnumMap<>(outcomes);
    for (E outcome : outcomes.getEnumConstants()) {
      adders.put(outcome, new LongAdder());
    }
    return adders;
  }

  /** Counts a request that {@code policy} has placed. */
  void count(String policy, RoutingRequest request) {
    Map<Role, Map<PrefixOutcome, LongAdder>> ofRoles = byPrefix.get(policy);
    Map<PrefixOutcome, LongAdder> counts = ofRoles == null ? null : ofRoles.get(request.role());
    if (counts != null) {
      PrefixOutcome outcome =
          policy.equals(CACHE_AWARE)
              ? cacheAware(request.result().reason())
              : kvAware(request.role(), request.result());
      increment(counts, outcome);
    }
    if (request.role() == Role.DECODE) {
      increment(bySession, session(request.result().reason()));
    }
  }

  private static <E extends Enum<E>> void increment(Map<E, LongAdder> counts, @Nullable E outcome) {
    LongAdder count = outcome == null ? null : counts.get(outcome);
    if (count != null) {
      count.increment();
    }
  }

  private static @Nullable PrefixOutcome cacheAware(PickReason reason) {
    return switch (reason) {
      case PREFIX_HIT -> PrefixOutcome.PREFIX_HIT;
      case PREFIX_MISS -> PrefixOutcome.PREFIX_MISS;
      case LOAD_IMBALANCE -> PrefixOutcome.LOAD_IMBALANCE;
      case RANDOM,
          TURN,
          LEAST_LOAD,
          HASH,
          HASH_SPILL,
          STICKY_HIT,
          STICKY_BIND,
          STICKY_MOVE,
          STICKY_BYPASS,
          STICKY_FULL,
          LEAST_COST,
          PINNED,
          FALLBACK ->
          null;
    };
  }

  /** Prompts are not compared for decode workers. */
  private static @Nullable PrefixOutcome kvAware(Role role, PickResult result) {
    if (role == Role.DECODE) {
      return null;
    }
    return switch (result.reason()) {
      case STICKY_HIT -> PrefixOutcome.STICKY_HIT;
      case PREFIX_HIT,
          LEAST_COST,
          LEAST_LOAD,
          STICKY_BIND,
          STICKY_MOVE,
          STICKY_BYPASS,
          STICKY_FULL ->
          kvAware(result.lookup());
      case RANDOM, TURN, HASH, HASH_SPILL, PREFIX_MISS, LOAD_IMBALANCE, PINNED, FALLBACK -> null;
    };
  }

  /** A request without a prompt has no lookup. */
  private static PrefixOutcome kvAware(KvTally.@Nullable LookupOutcome lookup) {
    return switch (lookup) {
      case HIT, MISS -> PrefixOutcome.PREFIX_COST;
      case NOT_ANNOUNCED -> PrefixOutcome.UNVERIFIED_IDENTITY;
      case UNKNOWN_TOKENS -> PrefixOutcome.MISSING_TOKENS;
      case null -> PrefixOutcome.MISSING_TOKENS;
    };
  }

  private static @Nullable SessionOutcome session(PickReason reason) {
    return switch (reason) {
      case STICKY_HIT -> SessionOutcome.STICKY_HIT;
      case STICKY_BIND -> SessionOutcome.BIND;
      case STICKY_MOVE -> SessionOutcome.REBIND;
      case STICKY_FULL -> SessionOutcome.CAPACITY_BYPASS;
      case RANDOM,
          TURN,
          LEAST_LOAD,
          HASH,
          HASH_SPILL,
          PREFIX_HIT,
          PREFIX_MISS,
          LEAST_COST,
          LOAD_IMBALANCE ->
          SessionOutcome.NO_SESSION;
      // A retry or a pinned request is no decision about a session.
      case STICKY_BYPASS, PINNED, FALLBACK -> null;
    };
  }

  /** Writes the decisions by policy, stage and outcome. */
  void prefixes(Meters.Sink sink) {
    byPrefix.forEach(
        (policy, ofRoles) ->
            ofRoles.forEach(
                (role, counts) -> put(sink, counts, policy, EngineMetrics.label(role))));
  }

  /** Writes the decisions on sessions by stage and outcome. */
  void sessions(Meters.Sink sink) {
    put(sink, bySession, EngineMetrics.label(Role.DECODE));
  }

  private static <E extends Enum<E>> void put(
      Meters.Sink sink, Map<E, LongAdder> counts, String... labels) {
    counts.forEach(
        (outcome, count) -> {
          long sum = count.sum();
          if (sum > 0) {
            String[] all = Arrays.copyOf(labels, labels.length + 1);
            all[labels.length] = EngineMetrics.label(outcome);
            sink.put(sum, all);
          }
        });
  }
}
