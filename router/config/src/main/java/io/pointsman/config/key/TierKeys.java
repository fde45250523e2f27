package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;

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
          "Name of the machine on which this router runs. Workers with the same `node` are"
              + " preferred.",
          "Empty: off. See docs/policies.md, \"Near workers first\".");

  public static final Key<String> ZONE =
      Key.of(
          "locality.zone",
          text("<name>", "a name", true),
          LocalitySettings.OFF.zone(),
          "Zone of this router. Workers with the same `zone` are preferred, after those of the same"
              + " node.",
          "Empty: off.");

  public static final Key<Integer> LOCALITY_GAP =
      Key.of(
          "locality.max-load-gap",
          integer(0, MOST),
          LocalitySettings.OFF.maxLoadGap(),
          "Number of requests in flight by which near workers can exceed remote ones. If the least"
              + " loaded near worker exceeds the least loaded remote worker by more, the remote"
              + " worker serves.",
          "`0`: remote workers serve only if all near workers are full; this needs `max-in-flight`"
              + " on workers. A low value sends requests to other zones for a small gain.");

  public static final Key<Integer> ADAPTER_GAP =
      Key.of(
          "adapters.max-load-gap",
          integer(0, MOST),
          ADAPTERS.maxLoadGap(),
          "With `unknown-model: base-model`: maximum difference in requests in flight between"
              + " workers with an adapter and workers without it. If the least loaded worker with"
              + " the adapter exceeds the least loaded one without it by more, the latter loads the"
              + " adapter.",
          "`0`: another worker loads the adapter only if all that have it are full. A low value"
              + " loads frequent adapters everywhere.");

  public static final Key<Integer> ADAPTERS_PER_WORKER =
      Key.of(
          "adapters.max-per-worker",
          integer(1, MOST),
          ADAPTERS.maxPerWorker(),
          "Number of adapters that a worker is assumed to keep loaded, besides those in its list of"
              + " models. Beyond it, the least recently requested one is assumed to be unloaded.",
          "Set it as in the engines (`max_loras`, `max_num_adapters_per_replica`).");

  public static final Key<Integer> MAX_ADAPTERS =
      Key.of(
          "adapters.max-remembered",
          integer(1, MOST),
          ADAPTERS.maxAdapters(),
          "Maximum number of adapters for which the router remembers the workers.",
          "With a low value, requests for rare adapters go to any worker. Each adapter costs about"
              + " 200 bytes.");

  private TierKeys() {}

  static List<Key<?>> all() {
    return List.of(NODE, ZONE, LOCALITY_GAP, ADAPTER_GAP, ADAPTERS_PER_WORKER, MAX_ADAPTERS);
  }
}
