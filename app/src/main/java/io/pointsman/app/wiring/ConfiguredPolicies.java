package io.pointsman.app.wiring;

import io.pointsman.app.config.PointsmanConfig;
import io.pointsman.app.disagg.DisaggSettings;
import io.pointsman.app.explain.ShadowApi;
import io.pointsman.engine.fleet.Role;

/** Which policy the configuration names for whom. */
final class ConfiguredPolicies {
  private static final String COST = "cost";

  private ConfiguredPolicies() {}

  /** Of requests that no model's own policy is for. */
  static String of(PointsmanConfig config, Role role) {
    DisaggSettings disagg = config.disagg();
    return switch (role) {
      case REGULAR -> config.policy();
      case PREFILL -> disagg.enabled() ? disagg.prefillPolicy() : config.policy();
      case DECODE -> disagg.enabled() ? disagg.decodePolicy() : config.policy();
    };
  }

  /**
   * Whether workers of a role are asked how large their KV memory is: only {@code cost} needs to
   * know, and the model that a shadow policy is measured by.
   */
  static boolean needKvCapacity(PointsmanConfig config, Role role) {
    boolean ofModel = config.models().stream().anyMatch(model -> model.policy().equals(COST));
    boolean shadowed = !config.shadowPolicy().equals(ShadowApi.NONE);
    return shadowed || ofModel || of(config, role).equals(COST);
  }
}
