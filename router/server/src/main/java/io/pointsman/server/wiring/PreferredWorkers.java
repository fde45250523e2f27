package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.policy.tier.AdapterTable;
import io.pointsman.engine.policy.tier.TierSettings;
import io.pointsman.engine.policy.tier.Tiers;

/** Builds the preferences for workers that apply to all policies. */
final class PreferredWorkers {
  private PreferredWorkers() {}

  /**
   * Tracks adapters only if requests for {@code base:adapter} go to the workers of the base model.
   */
  static Tiers of(PointsmanConfig config, Fleet fleet, RandomSource dice) {
    TierSettings settings = config.tiers();
    AdapterTable adapters = null;
    if (config.engine().unknownModel() == UnknownModel.BASE_MODEL) {
      adapters = new AdapterTable(settings.adapters());
      fleet.listen(adapters);
    }
    return new Tiers(settings.locality(), settings.adapters(), adapters, dice);
  }
}
