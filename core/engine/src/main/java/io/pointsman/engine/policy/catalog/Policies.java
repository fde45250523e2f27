package io.pointsman.engine.policy.catalog;

import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.LeastLoadPolicy;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.PowerOfTwoPolicy;
import io.pointsman.engine.policy.PriorityPolicy;
import io.pointsman.engine.policy.RandomPolicy;
import io.pointsman.engine.policy.RoundRobinPolicy;
import io.pointsman.engine.policy.cache.CacheAwarePolicy;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.cache.PrefixLearner;
import io.pointsman.engine.policy.cost.CostLearner;
import io.pointsman.engine.policy.cost.CostPolicy;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.cost.CostTerms;
import io.pointsman.engine.policy.cost.cache.FleetCaches;
import io.pointsman.engine.policy.cost.report.CostInsight;
import io.pointsman.engine.policy.hash.ConsistentHashPolicy;
import io.pointsman.engine.policy.hash.LoadBound;
import io.pointsman.engine.policy.hash.Md5RingPolicy;
import io.pointsman.engine.policy.hash.RayConsistentHashPolicy;
import io.pointsman.engine.policy.hash.RendezvousHashPolicy;
import io.pointsman.engine.policy.kv.KvAwarePolicy;
import io.pointsman.engine.policy.kv.KvLearner;
import io.pointsman.engine.policy.kv.LoadAwarePolicy;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.engine.policy.session.StickyLeastLoadedPolicy;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The policies by name. The name is the value of {@code --policy}, the metric label and the stem of
 * the class name.
 */
public final class Policies {
  private static final Map<String, Function<PolicyParts, PolicySetup>> FACTORIES =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry("cache_aware", Policies::cacheAware),
              Map.entry("consistent_hash", Policies::consistentHash),
              Map.entry("cost", Policies::cost),
              Map.entry("kv_aware", Policies::kvAware),
              Map.entry("least_load", parts -> plain(new LeastLoadPolicy(parts.random()))),
              Map.entry("load_aware", Policies::loadAware),
              Map.entry("md5_ring", parts -> plain(new Md5RingPolicy(parts.random()))),
              Map.entry("power_of_two", parts -> plain(new PowerOfTwoPolicy(parts.random()))),
              Map.entry("priority", Policies::priority),
              Map.entry("random", parts -> plain(new RandomPolicy(parts.random()))),
              Map.entry("ray_consistent_hash", Policies::rayConsistentHash),
              Map.entry("rendezvous_hash", Policies::rendezvousHash),
              Map.entry("round_robin", parts -> plain(new RoundRobinPolicy(parts.random()))),
              Map.entry("sticky_least_loaded", Policies::stickyLeastLoaded)));

  private Policies() {}

  /** All names, sorted. */
  public static List<String> names() {
    return List.copyOf(FACTORIES.keySet());
  }

  /**
   * Creates a policy with its own learners, or with those in the memory of its parts.
   *
   * @throws IllegalArgumentException if the name is unknown; the message lists all names
   */
  public static PolicySetup create(String name, PolicyParts parts) {
    Function<PolicyParts, PolicySetup> factory = FACTORIES.get(name);
    if (factory == null) {
      throw new IllegalArgumentException(
          "policy: %s (expected: one of %s)".formatted(name, String.join(", ", names())));
    }
    return factory.apply(parts);
  }

  /**
   * Adds session affinity to a policy, according to the settings; returns the same setup if
   * affinity is off.
   *
   * @throws IllegalArgumentException if the policy keeps sessions itself
   */
  public static PolicySetup withAffinity(PolicySetup setup, PolicyParts parts) {
    PolicySettings settings = parts.settings();
    if (settings.affinity() == SessionAffinity.Mode.OFF) {
      return setup;
    }
    if (setup.sessions() != null) {
      throw new IllegalArgumentException(
          "session-affinity: "
              + settings.affinity().name().toLowerCase(Locale.ROOT)
              + " (expected: off with a policy that keeps sessions itself)");
    }
    SessionTable sessions = sessions(parts);
    List<Learner> learners = new ArrayList<>(setup.learners());
    learners.add(sessions);
    return new PolicySetup(
        new SessionAffinity(setup.policy(), sessions, settings.affinity()),
        learners,
        setup.answerLearners(),
        sessions,
        setup.prefixes(),
        setup.insight(),
        setup.wanted());
  }

  private static PolicySetup plain(Policy policy) {
    return new PolicySetup(policy, List.of());
  }

  private static PolicySetup cacheAware(PolicyParts parts) {
    CacheAwareSettings settings = parts.settings().cacheAware();
    PrefixIndex index = index(parts, settings.maxIndexBytes(), parts.largePages());
    PrefixLearner learner =
        parts
            .memory()
            .prefixes(index, () -> new PrefixLearner(index, parts.slots(), parts.ticker().nanos()));
    return new PolicySetup(
        new CacheAwarePolicy(settings, learner, parts.random()), List.of(learner), null, index);
  }

  private static PolicySetup consistentHash(PolicyParts parts) {
    PolicySettings settings = parts.settings();
    return plain(
        new ConsistentHashPolicy(
            settings.virtualNodes(), new LoadBound(settings.hashLoadFactor()), parts.random()));
  }

  private static PolicySetup rayConsistentHash(PolicyParts parts) {
    return plain(new RayConsistentHashPolicy(parts.settings().rayRing(), parts.random()));
  }

  private static PolicySetup cost(PolicyParts parts) {
    CostSettings settings = parts.settings().cost();
    KvCredits credits = parts.settings().kvAware().credits();
    PolicySetup kept = parts.memory().cost(settings, credits);
    return kept != null ? kept : parts.memory().keep(cost(parts, CostTerms.ALL), settings, credits);
  }

  /**
   * Creates {@code cost} with its own learners and without some parts of its rule. No configuration
   * names it; replays measure the worth of the parts.
   */
  public static PolicySetup cost(PolicyParts parts, CostTerms terms) {
    CostSettings settings = parts.settings().cost();
    KvCredits credits = parts.settings().kvAware().credits();
    PrefixIndex index =
        index(parts, FleetCaches.indexBytes(settings.maxBytes()), parts.largePages());
    FleetCaches caches = new FleetCaches(settings.maxBytes(), index, parts.kv(), credits);
    CostLearner learner = new CostLearner(settings, terms, caches, parts.ticker(), parts.slots());
    if (!parts.acts()) {
      learner.inShadow();
    }
    return new PolicySetup(
        new CostPolicy(settings, learner, parts.random()),
        List.of(learner),
        List.of(learner),
        null,
        learner.index(),
        CostInsight.observing(settings, learner));
  }

  private static PolicySetup kvAware(PolicyParts parts) {
    KvLearner learner = kvLearner(parts);
    return ofKv(new KvAwarePolicy(parts.settings().kvAware(), learner, parts.random()), learner);
  }

  private static PolicySetup loadAware(PolicyParts parts) {
    KvLearner learner = kvLearner(parts);
    return ofKv(new LoadAwarePolicy(parts.settings().kvAware(), learner, parts.random()), learner);
  }

  private static KvLearner kvLearner(PolicyParts parts) {
    PolicySettings settings = parts.settings();
    KvCredits credits = settings.kvAware().credits();
    long bytes = settings.cacheAware().maxIndexBytes();
    return parts
        .memory()
        .placements(
            bytes,
            credits,
            () ->
                new KvLearner(
                    parts.kv(),
                    credits,
                    parts.ticker(),
                    index(parts, bytes, LargePages.NONE),
                    parts.slots()));
  }

  private static PolicySetup priority(PolicyParts parts) {
    return plain(new PriorityPolicy(parts.settings().priority(), parts.random()));
  }

  private static PolicySetup ofKv(Policy policy, KvLearner learner) {
    return new PolicySetup(
        policy, List.of(learner), List.of(learner), null, learner.placements(), null);
  }

  private static PolicySetup rendezvousHash(PolicyParts parts) {
    LoadBound bound = new LoadBound(parts.settings().hashLoadFactor());
    return plain(new RendezvousHashPolicy(bound, parts.random()));
  }

  private static SessionTable sessions(PolicyParts parts) {
    PolicySettings settings = parts.settings();
    return parts
        .memory()
        .sessions(
            settings.maxSessions(),
            settings.sessionTtl(),
            () -> new SessionTable(settings.maxSessions(), settings.sessionTtl(), parts.ticker()));
  }

  /** The index of prefixes with the size that the settings name. */
  private static PrefixIndex index(PolicyParts parts, long bytes, LargePages pages) {
    return parts.memory().index(bytes, () -> new PrefixIndex(bytes, parts.slots(), pages));
  }

  private static PolicySetup stickyLeastLoaded(PolicyParts parts) {
    SessionTable sessions = sessions(parts);
    Policy policy = new StickyLeastLoadedPolicy(sessions, parts.random());
    return new PolicySetup(policy, List.of(sessions), sessions);
  }
}
