package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.PointsmanConfig.ModelRouting;
import io.pointsman.engine.ModelNames;
import io.pointsman.engine.policy.catalog.PolicyMemory;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.tier.Tiers;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The policies of models that have their own. */
final class ModelPolicies {
  private final Map<String, PolicySetup> setups = new LinkedHashMap<>();
  private final Map<String, String> names = new HashMap<>();

  /**
   * @param common parts of the policies for all models
   * @param memories memories of the models' earlier policies; changed
   */
  ModelPolicies(
      PointsmanConfig config,
      PolicyClasses.Of classes,
      PolicyParts common,
      Tiers tiers,
      Map<String, PolicyMemory> memories) {
    memories.keySet().retainAll(config.models().stream().map(ModelRouting::model).toList());
    for (ModelRouting model : config.models()) {
      PolicyMemory memory = memories.computeIfAbsent(model.model(), _ -> new PolicyMemory());
      PolicyParts own = common.remembering(model.policies(), memory);
      setups.put(model.model(), tiers.around(classes.create(model.policy(), own)));
      names.put(model.model(), model.policy());
    }
  }

  /** Policies by model. */
  Map<String, PolicySetup> setups() {
    return setups;
  }

  /** Configured policy names by model, for labels. */
  Map<String, String> names() {
    return names;
  }

  /** The configured policy name for a model or its adapter; {@code common} if it has none. */
  static String name(Map<String, String> names, @Nullable String model, String common) {
    return ModelNames.find(names, model, common);
  }
}
