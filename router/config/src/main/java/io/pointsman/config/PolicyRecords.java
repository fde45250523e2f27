package io.pointsman.config;

import static io.pointsman.config.RecordGroup.group;

import io.pointsman.config.key.Key;
import io.pointsman.config.key.KvAwareKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.TierKeys;
import io.pointsman.config.value.ModelPolicy;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.policy.PrioritySettings;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.hash.RingSettings;
import io.pointsman.engine.policy.kv.KvAwareSettings;
import io.pointsman.engine.policy.tier.AdapterSettings;
import io.pointsman.engine.policy.tier.LocalitySettings;
import io.pointsman.engine.policy.tier.TierSettings;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Builds the settings of policies from values. */
final class PolicyRecords {
  private PolicyRecords() {}

  static PolicySettings policies(ConfigValues values) {
    return new PolicySettings(
        values.get(RoutingKeys.VIRTUAL_NODES),
        values.get(RoutingKeys.HASH_LOAD_FACTOR),
        new RingSettings(
            values.get(RoutingKeys.RAY_VIRTUAL_NODES),
            values.get(RoutingKeys.RAY_FALLBACK_WORKERS)),
        new CacheAwareSettings(
            values.get(RoutingKeys.CACHE_THRESHOLD),
            values.get(RoutingKeys.BALANCE_ABS),
            values.get(RoutingKeys.BALANCE_REL),
            values.get(RoutingKeys.INDEX_MAX_BYTES),
            values.get(RoutingKeys.MIN_MATCH_LENGTH)),
        new CostSettings(
            values.get(RoutingKeys.COST_KV_TOKENS),
            values.get(RoutingKeys.COST_STEP_TOKENS),
            values.get(RoutingKeys.COST_PRICE_FLOOR),
            values.get(RoutingKeys.COST_TIE_MILLIS),
            values.get(RoutingKeys.COST_MAX_BYTES)),
        new KvAwareSettings(
            values.get(KvAwareKeys.TEMPERATURE),
            new KvCredits(
                values.get(KvAwareKeys.HOST_CREDIT),
                values.get(KvAwareKeys.EXTERNAL_CREDIT),
                values.get(KvAwareKeys.DISK_CREDIT)),
            values.get(KvAwareKeys.INDEX_MAX_BYTES),
            values.get(KvAwareKeys.LOAD_WEIGHT)),
        values.get(RoutingKeys.SESSION_AFFINITY),
        values.get(RoutingKeys.STICKY_IDLE),
        values.get(RoutingKeys.STICKY_MAX),
        new PrioritySettings(
            values.get(RoutingKeys.PRIORITY_HEADER),
            values.get(RoutingKeys.PRIORITY_FIELD),
            values.get(RoutingKeys.PRIORITY_DEFAULT),
            values.get(RoutingKeys.PRIORITY_THRESHOLD)));
  }

  static List<PointsmanConfig.ModelRouting> models(ConfigValues values) {
    List<PointsmanConfig.ModelRouting> models = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (ModelPolicy each : values.get(RoutingKeys.MODEL_POLICIES)) {
      if (!names.add(each.model())) {
        throw new ConfigException(
            "model-policies: " + each.model() + " (expected: each model once)");
      }
      ConfigValues own = new ConfigValues().setAll(values);
      for (Key<?> key : RoutingKeys.ofAModel()) {
        String written = each.settings().get(key.path());
        if (written != null) {
          own.read(key, new RawValue.Scalar(written, "model-policies"));
        }
      }
      models.add(
          new PointsmanConfig.ModelRouting(
              each.model(),
              own.get(RoutingKeys.POLICY),
              group("model-policies: " + each.model(), () -> policies(own))));
    }
    return models;
  }

  static TierSettings tiers(ConfigValues values) {
    return new TierSettings(
        new LocalitySettings(
            values.get(TierKeys.NODE),
            values.get(TierKeys.ZONE),
            values.get(TierKeys.LOCALITY_GAP)),
        new AdapterSettings(
            values.get(TierKeys.ADAPTER_GAP),
            values.get(TierKeys.ADAPTERS_PER_WORKER),
            values.get(TierKeys.MAX_ADAPTERS)));
  }

  static Set<String> expectedModels(ConfigValues values) {
    Set<String> expected = new HashSet<>(values.get(RoutingKeys.EXPECTED_MODELS));
    values.get(RoutingKeys.MODEL_POLICIES).forEach(each -> expected.add(each.model()));
    values.get(QueueKeys.MODEL_QUEUES).forEach(each -> expected.add(each.model()));
    values.get(RoutingKeys.WORKERS).forEach(each -> expected.addAll(each.models()));
    return expected;
  }
}
