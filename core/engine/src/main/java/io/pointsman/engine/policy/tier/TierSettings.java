package io.pointsman.engine.policy.tier;

import static java.util.Objects.requireNonNull;

/** Preferences for workers, independent of the policy. */
public record TierSettings(LocalitySettings locality, AdapterSettings adapters) {
  public static final TierSettings DEFAULTS =
      new TierSettings(LocalitySettings.OFF, AdapterSettings.DEFAULTS);

  public TierSettings {
    requireNonNull(locality, "locality");
    requireNonNull(adapters, "adapters");
  }
}
