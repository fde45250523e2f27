package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.tier.AdapterTable;
import io.pointsman.engine.policy.tier.TierSettings;
import io.pointsman.engine.policy.tier.Tiers;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Builds the preferences for workers that apply to all policies. The table of adapters stays when
 * the configuration changes.
 */
final class PreferredWorkers {
  private final Fleet fleet;
  private final RandomSource random;

  /** Null until a configuration needs it. */
  private @Nullable AdapterTable adapters;

  PreferredWorkers(Fleet fleet, RandomSource random) {
    this.fleet = fleet;
    this.random = random;
  }

  /**
   * The preferences of a configuration, which may never be in force. Tracks adapters only if
   * requests for {@code base:adapter} go to the workers of the base model.
   */
  synchronized Tiers of(PointsmanConfig config) {
    TierSettings settings = config.tiers();
    AdapterTable table = null;
    if (config.engine().unknownModel() == UnknownModel.BASE_MODEL) {
      table = adapters;
      if (table == null) {
        table = new AdapterTable(settings.adapters());
        fleet.listen(table);
        adapters = table;
      }
    }
    return new Tiers(settings.locality(), settings.adapters(), table, random);
  }

  /** Uses the limits of a configuration that is in force. */
  synchronized void use(PointsmanConfig config) {
    if (adapters != null) {
      adapters.use(config.tiers().adapters());
    }
  }

  /** The table of adapters, which forgets workers that leave also while no policy uses it. */
  synchronized List<Learner> learners() {
    return adapters == null ? List.of() : List.of(adapters);
  }
}
