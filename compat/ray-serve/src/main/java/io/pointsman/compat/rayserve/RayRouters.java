package io.pointsman.compat.rayserve;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.value.Nearest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Translates Ray's request routers and their arguments to policies and their keys. */
final class RayRouters {
  /** The policy that uses KV events. */
  static final String KV_AWARE = "kv_aware";

  private static final String POWER_OF_TWO = "power_of_two";
  private static final String ROUND_ROBIN = "round_robin";
  private static final String MEMORY = "use cache.index-max-bytes";

  /** Translates the arguments of one router. */
  private interface Arguments {
    void translate(RayNode kwargs, ConfigValues into);
  }

  /**
   * One of Ray's routers.
   *
   * @param policy the equivalent policy; empty if there is none
   * @param refusal reason for refusing the router, if there is no policy
   */
  private record RayRouter(String policy, String refusal, Arguments arguments) {
    RayRouter(String policy, Arguments arguments) {
      this(policy, "", arguments);
    }
  }

  private static final Map<String, RayRouter> ROUTERS = new TreeMap<>();

  static {
    RayRouter powerOfTwo =
        new RayRouter(POWER_OF_TWO, (kwargs, _) -> kwargs.keys(List.of(), Map.of()));
    RayRouter prefix = new RayRouter("cache_aware", RayRouters::prefix);
    ROUTERS.put("PowerOfTwoChoicesRequestRouter", powerOfTwo);
    ROUTERS.put(
        "RoundRobinRouter",
        new RayRouter(ROUND_ROBIN, (kwargs, _) -> kwargs.keys(List.of(), Map.of())));
    ROUTERS.put("PrefixCacheAffinityRouter", prefix);
    ROUTERS.put("PrefixAwarePow2ReplicaRouter", prefix);
    ROUTERS.put("ConsistentHashRouter", new RayRouter("ray_consistent_hash", RayRouters::ring));
    ROUTERS.put(
        "CapacityQueueRouter",
        new RayRouter(
            "", "is not supported (nearest: PowerOfTwoChoicesRequestRouter)", (_, _) -> {}));
    ROUTERS.put(
        "KVAwareRouter", new RayRouter(KV_AWARE, (kwargs, _) -> kwargs.keys(List.of(), Map.of())));
  }

  private RayRouters() {}

  /**
   * Translates {@code request_router_config}.
   *
   * @param direct true for Ray's direct streaming, which uses round robin if the group is missing
   */
  static void translate(RayNode config, boolean direct, ConfigValues into) {
    RayNode written = config.at("request_router_class");
    into.set(RoutingKeys.POLICY, direct && config.absent() ? ROUND_ROBIN : POWER_OF_TWO);
    if (written.absent()) {
      config.at("request_router_kwargs").keys(List.of(), Map.of());
      return;
    }
    String name = simpleName(written.text());
    RayRouter router = ROUTERS.get(name);
    if (!raysOwn(written.text()) && written.text().contains(".") && !written.text().contains(":")) {
      config.at("request_router_kwargs").keys(List.of(), Map.of());
      into.set(RoutingKeys.POLICY, written.text());
    } else if (router == null || !raysOwn(written.text())) {
      List<String> names = new ArrayList<>(ROUTERS.keySet());
      written.wrong(written.text() + ": unknown class" + Nearest.hint(name, names));
    } else if (router.policy.isEmpty()) {
      written.wrong(name + " " + router.refusal);
    } else {
      into.set(RoutingKeys.POLICY, router.policy);
      router.arguments.translate(config.at("request_router_kwargs"), into);
    }
  }

  /** The last name of an import path: {@code module.Class} or {@code module:Class}. */
  private static String simpleName(String path) {
    return path.substring(Math.max(path.lastIndexOf('.'), path.lastIndexOf(':')) + 1);
  }

  private static boolean raysOwn(String path) {
    return path.startsWith("ray.") || path.equals(simpleName(path));
  }

  private static void prefix(RayNode kwargs, ConfigValues into) {
    kwargs.keys(
        List.of("imbalanced_threshold", "match_rate_threshold"),
        Map.of(
            "do_eviction", MEMORY,
            "eviction_threshold_chars", MEMORY,
            "eviction_target_chars", MEMORY,
            "eviction_interval_secs", MEMORY,
            "tree_actor", "the router has its own index",
            "multiplex_spill_threshold", "use adapters.max-load-gap"));
    // Ray compares only the difference, so the ratio is set to have no effect.
    double threshold =
        kwargs.at("imbalanced_threshold").number(0, Double.POSITIVE_INFINITY).orElse(1e300);
    into.set(RoutingKeys.BALANCE_REL, 1.0);
    into.set(RoutingKeys.BALANCE_ABS, (int) Math.min(threshold, Integer.MAX_VALUE));
    // Ray follows the prefix at the threshold itself, cache_aware only above it.
    double share = kwargs.at("match_rate_threshold").number(0, 1).orElse(0.1);
    into.set(RoutingKeys.CACHE_THRESHOLD, share == 0 ? 0 : Math.nextDown(share));
  }

  private static void ring(RayNode kwargs, ConfigValues into) {
    kwargs.keys(
        List.of("num_virtual_nodes", "virtual_nodes", "num_fallback_replicas", "fallback_replicas"),
        Map.of("affinity_rate_window_size", "the router has no such gauge"));
    either(kwargs, "num_virtual_nodes", "virtual_nodes", 1, 10_000)
        .ifPresent(nodes -> into.set(RoutingKeys.RAY_VIRTUAL_NODES, nodes));
    either(kwargs, "num_fallback_replicas", "fallback_replicas", 0, 1000)
        .ifPresent(workers -> into.set(RoutingKeys.RAY_FALLBACK_WORKERS, workers));
  }

  /** An argument with two names; reports a problem if both are given and differ. */
  private static Optional<Integer> either(
      RayNode kwargs, String name, String older, int least, int most) {
    Optional<Integer> one = kwargs.at(name).whole(least, most);
    Optional<Integer> other = kwargs.at(older).whole(least, most);
    if (one.isPresent() && other.isPresent() && !one.equals(other)) {
      kwargs
          .at(older)
          .wrong(other.get() + " (expected: " + one.get() + ", as in " + name + ", or only one)");
    }
    return one.isPresent() ? one : other;
  }
}
