package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.choice.ExternalLeaseSettings;

/**
 * Settings of the decision service for external proxies.
 *
 * @param enabled true if the endpoints exist
 * @param leases limits of leases
 * @param spoeAddress {@code host:port} for HAProxy's own protocol, SPOE; empty: no SPOE
 */
public record DecideSettings(boolean enabled, ExternalLeaseSettings leases, String spoeAddress) {
  private static final int MOST_PORT = 65_535;

  public static final DecideSettings DEFAULTS =
      new DecideSettings(true, ExternalLeaseSettings.DEFAULTS, "");

  public DecideSettings {
    requireNonNull(leases, "leases");
    requireNonNull(spoeAddress, "spoeAddress");
    if (!enabled && !spoeAddress.isEmpty()) {
      throw new IllegalArgumentException(
          "spoeAddress: " + spoeAddress + " (expected: empty while decide.enabled is false)");
    }
  }

  /** True if the text is {@code host:port} or empty. */
  public static boolean isAddress(String text) {
    int colon = text.lastIndexOf(':');
    return text.isEmpty()
        || (colon > 0
            && text.substring(colon + 1).matches("[0-9]{1,5}")
            && Integer.parseInt(text.substring(colon + 1)) <= MOST_PORT);
  }
}
