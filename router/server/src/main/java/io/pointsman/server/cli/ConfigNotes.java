package io.pointsman.server.cli;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.proxy.settings.CorsSettings;
import java.util.ArrayList;
import java.util.List;

/** Likely slips in a configuration that do not keep the router from starting. */
final class ConfigNotes {
  private ConfigNotes() {}

  /** One line for each slip. */
  static List<String> of(ConfigValues values, PointsmanConfig config) {
    List<String> notes = new ArrayList<>(WorkerNotes.of(values, config));
    CorsSettings cors = config.proxy().cors();
    if (!cors.enabled() && !cors.allowedOrigins().isEmpty()) {
      notes.add(
          "cors.allowed-origins: without cors.enabled it applies to WebSockets only (expected:"
              + " cors.enabled: true, to answer pages of these origins)");
    }
    return notes;
  }
}
