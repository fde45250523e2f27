package io.pointsman.tool.replay.peer;

import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.tool.replay.run.FleetView;
import io.pointsman.tool.replay.run.PolicyMaker;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/** All policies of a replay by name: the production policies and the comparators. */
public final class ReplayPolicies {
  private static final Map<String, PolicyMaker> COMPARATORS =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry("dynamo", (parts, view) -> scored(parts, view, Scorers.dynamo(1))),
              Map.entry("dynamo_tuned", (parts, view) -> scored(parts, view, Scorers.dynamo(4))),
              Map.entry(
                  "greedy", (parts, view) -> scored(parts, view, new Greedy(parts.ticker(), -1))),
              Map.entry(
                  "greedy_price",
                  (parts, view) -> scored(parts, view, new Greedy(parts.ticker(), 0.5))),
              Map.entry("llm_d", (parts, view) -> scored(parts, view, Scorers::llmd)),
              Map.entry("ray_prefix", (parts, _) -> tree(parts, TreePolicy.Rules.RAY)),
              Map.entry("sglang", (parts, _) -> tree(parts, TreePolicy.Rules.SGLANG)),
              Map.entry(
                  "uncached_in_flight",
                  (parts, view) -> scored(parts, view, Scorers::uncachedTimesInFlight)),
              Map.entry("vllm_cache_aware", (parts, _) -> tree(parts, TreePolicy.Rules.VLLM)),
              Map.entry("vllm_kv_aware", ReplayPolicies::kvAware)));

  private ReplayPolicies() {}

  /** All names: the production policies, then the comparators. */
  public static List<String> names() {
    return Stream.concat(Policies.names().stream(), COMPARATORS.keySet().stream()).toList();
  }

  /**
   * Returns the policy of this name, also {@code cost} without one {@link CostPart}.
   *
   * @throws IllegalArgumentException if the name is unknown; the message lists all names
   */
  public static PolicyMaker of(String name) {
    PolicyMaker comparator = COMPARATORS.get(name);
    if (comparator != null) {
      return comparator;
    }
    Optional<CostPart> missing = CostPart.missingIn(name);
    if (missing.isPresent()) {
      CostPart part = missing.get();
      return (parts, _) -> part.leftOut(parts);
    }
    if (!Policies.names().contains(name)) {
      throw new IllegalArgumentException(
          "policy: %s (expected: one of %s)".formatted(name, String.join(", ", names())));
    }
    return (parts, _) -> Policies.create(name, parts);
  }

  private static PolicySetup scored(PolicyParts parts, FleetView view, Scorer scorer) {
    return new PolicySetup(new ScoredPolicy(view, scorer, parts.random(), false), List.of());
  }

  private static PolicySetup kvAware(PolicyParts parts, FleetView view) {
    return new PolicySetup(
        new ScoredPolicy(view, Scorers::uncachedTimesInFlight, parts.random(), true), List.of());
  }

  private static PolicySetup tree(PolicyParts parts, TreePolicy.Rules rules) {
    TreePolicy policy = new TreePolicy(rules, parts.random());
    return new PolicySetup(policy, List.of(policy));
  }
}
