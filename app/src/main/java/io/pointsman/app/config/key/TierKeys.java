package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.text;

import io.pointsman.engine.policy.tier.AdapterSettings;
import io.pointsman.engine.policy.tier.LocalitySettings;
import java.util.List;

/** Keys of preferred workers, independent of the policy. */
public final class TierKeys {
  private static final AdapterSettings ADAPTERS = AdapterSettings.DEFAULTS;
  private static final int MOST = 1_000_000;

  public static final Key<String> NODE =
      Key.of(
          "locality.node",
          text("<name>", "a name", true),
          LocalitySettings.OFF.node(),
          "The machine that this router runs on: workers whose node is the same are preferred.",
          "Empty is off. docs/policies.md, \"Near workers first\".");

  public static final Key<String> ZONE =
      Key.of(
          "locality.zone",
          text("<name>", "a name", true),
          LocalitySettings.OFF.zone(),
          "The zone that this router is in: workers whose zone is the same are preferred, after"
              + " those of its node.",
          "Empty is off.");

  public static final Key<Integer> LOCALITY_GAP =
      Key.of(
          "locality.max-load-gap",
          integer(0, MOST),
          LocalitySettings.OFF.maxLoadGap(),
          "Requests in flight by which the least loaded near worker may exceed the least loaded one"
              + " further away before that one is asked.",
          "0 stays near until all near workers are full, so it needs max-in-flight on them; small"
              + " sends traffic across zones for small gains.");

  public static final Key<Integer> ADAPTER_GAP =
      Key.of(
          "adapters.max-load-gap",
          integer(0, MOST),
          ADAPTERS.maxLoadGap(),
          "With unknown-model base-model: requests in flight by which the least loaded worker that"
              + " has an adapter may exceed the least loaded one without before that one loads it.",
          "0 only when all that have it are full; small loads hot adapters everywhere.");

  public static final Key<Integer> ADAPTERS_PER_WORKER =
      Key.of(
          "adapters.max-per-worker",
          integer(1, MOST),
          ADAPTERS.maxPerWorker(),
          "Adapters that a worker is taken to keep loaded, beside those that it lists among its"
              + " models; of more, the one not asked for longest is taken to be gone.",
          "As the engines are configured (max_loras, max_num_adapters_per_replica).");

  public static final Key<Integer> MAX_ADAPTERS =
      Key.of(
          "adapters.max-remembered",
          integer(1, MOST),
          ADAPTERS.maxAdapters(),
          "Most adapters of which is remembered who has them.",
          "Small sends adapters that are asked for rarely to any worker; each costs about 200"
              + " bytes.");

  private TierKeys() {}

  static List<Key<?>> all() {
    return List.of(NODE, ZONE, LOCALITY_GAP, ADAPTER_GAP, ADAPTERS_PER_WORKER, MAX_ADAPTERS);
  }
}
