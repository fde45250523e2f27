package io.pointsman.server.wiring;

import io.pointsman.api.decisions.ShadowApi;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.engine.fleet.Role;

/** The configured policy of each role. */
final class ConfiguredPolicies {
  private static final String COST = "cost";

  private ConfiguredPolicies() {}

  /** The policy of a role for models without their own policy. */
  static String of(PointsmanConfig config, Role role) {
    DisaggSettings disagg = config.disagg();
    return switch (role) {
      case REGULAR -> config.policy();
      case PREFILL -> disagg.enabled() ? disagg.prefillPolicy() : config.policy();
      case DECODE -> disagg.enabled() ? disagg.decodePolicy() : config.policy();
    };
  }

  /**
   * True if workers of a role must be queried for the size of their KV cache. Only {@code cost}
   * needs it, and the model that evaluates a shadow policy.
   */
  static boolean needKvCapacity(PointsmanConfig config, Role role) {
    boolean ofModel = config.models().stream().anyMatch(model -> model.policy().equals(COST));
    boolean shadowed = !config.shadowPolicy().equals(ShadowApi.NONE);
    return shadowed || ofModel || of(config, role).equals(COST);
  }
}
