package io.pointsman.engine.policy.catalog;

import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.cache.PrefixLearner;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.kv.KvLearner;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.engine.prefix.PrefixIndex;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The learned state of one policy's place, kept while its policy changes at run time: the prefix
 * index, its learners, and the sessions. A policy takes the part of the size in its settings;
 * another size starts anew. Only one policy uses it at a time.
 */
public final class PolicyMemory {
  /** Keeps nothing: each policy starts anew. */
  public static final PolicyMemory NONE = new PolicyMemory(false);

  private final boolean keeps;
  private @Nullable PrefixIndex index;
  private long indexBytes;
  private @Nullable PrefixLearner prefixes;
  private @Nullable PolicySetup cost;
  private @Nullable CostSettings costSettings;
  private @Nullable KvCredits costCredits;
  private @Nullable KvLearner placements;
  private @Nullable KvCredits kvCredits;
  private long placementBytes;
  private @Nullable SessionTable sessions;
  private int maxSessions;
  private @Nullable Duration sessionTtl;

  public PolicyMemory() {
    this(true);
  }

  private PolicyMemory(boolean keeps) {
    this.keeps = keeps;
  }

  /** A memory with the same parts, for policies that may not come into use. */
  public synchronized PolicyMemory copy() {
    PolicyMemory copy = new PolicyMemory(keeps);
    copy.index = index;
    copy.indexBytes = indexBytes;
    copy.prefixes = prefixes;
    copy.cost = cost;
    copy.costSettings = costSettings;
    copy.costCredits = costCredits;
    copy.placements = placements;
    copy.kvCredits = kvCredits;
    copy.placementBytes = placementBytes;
    copy.sessions = sessions;
    copy.maxSessions = maxSessions;
    copy.sessionTtl = sessionTtl;
    return copy;
  }

  /** The learners that a later policy may take over. */
  public synchronized List<Learner> learners() {
    List<Learner> all = new ArrayList<>(cost == null ? List.of() : cost.learners());
    Stream.of(prefixes, placements, sessions).flatMap(Stream::ofNullable).forEach(all::add);
    return all;
  }

  /** The kept index of this size, or a new one. */
  synchronized PrefixIndex index(long bytes, Supplier<PrefixIndex> made) {
    PrefixIndex kept = index;
    if (kept == null || !keeps || indexBytes != bytes) {
      kept = made.get();
      index = keeps ? kept : null;
      indexBytes = bytes;
    }
    return kept;
  }

  /** The kept learner of an index, or a new one. */
  synchronized PrefixLearner prefixes(PrefixIndex index, Supplier<PrefixLearner> made) {
    PrefixLearner kept = prefixes;
    if (kept == null || !keeps || kept.index() != index) {
      kept = made.get();
      prefixes = keeps ? kept : null;
    }
    return kept;
  }

  /** The kept policy {@code cost} with these settings, or null. */
  synchronized @Nullable PolicySetup cost(CostSettings settings, KvCredits credits) {
    return keeps && settings.equals(costSettings) && credits.equals(costCredits) ? cost : null;
  }

  /** Keeps the policy {@code cost}. */
  synchronized PolicySetup keep(PolicySetup made, CostSettings settings, KvCredits credits) {
    if (!keeps) {
      return made;
    }
    cost = made;
    costSettings = settings;
    costCredits = credits;
    return made;
  }

  /** The kept learner of KV-aware policies, or a new one. */
  synchronized KvLearner placements(long bytes, KvCredits credits, Supplier<KvLearner> made) {
    KvLearner kept = placements;
    if (kept == null || !keeps || placementBytes != bytes || !credits.equals(kvCredits)) {
      kept = made.get();
      placements = keeps ? kept : null;
      placementBytes = bytes;
      kvCredits = credits;
    }
    return kept;
  }

  /** The kept sessions with these limits, or new ones. */
  synchronized SessionTable sessions(int most, Duration ttl, Supplier<SessionTable> made) {
    SessionTable kept = sessions;
    if (kept == null || !keeps || maxSessions != most || !ttl.equals(sessionTtl)) {
      kept = made.get();
      sessions = keeps ? kept : null;
      maxSessions = most;
      sessionTtl = ttl;
    }
    return kept;
  }
}
