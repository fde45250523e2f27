package io.pointsman.app.decide;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.choice.HoldSettings;

/**
 * Whether other planes may ask this router where to send requests.
 *
 * @param enabled whether the endpoints exist, on the port that clients use
 * @param hold bounds of what is held for them
 * @param spoeAddress where HAProxy may ask by its own protocol, host:port; empty: nowhere
 */
public record DecideSettings(boolean enabled, HoldSettings hold, String spoeAddress) {
  private static final int MOST_PORT = 65_535;

  public static final DecideSettings DEFAULTS = new DecideSettings(true, HoldSettings.DEFAULTS, "");

  public DecideSettings {
    requireNonNull(hold, "hold");
    requireNonNull(spoeAddress, "spoeAddress");
    if (!enabled && !spoeAddress.isEmpty()) {
      throw new IllegalArgumentException(
          "spoeAddress: " + spoeAddress + " (expected: empty while decide.enabled is false)");
    }
  }

  /** Whether this is {@code host:port}, or nothing. */
  public static boolean isAddress(String text) {
    int colon = text.lastIndexOf(':');
    return text.isEmpty()
        || (colon > 0
            && text.substring(colon + 1).matches("[0-9]{1,5}")
            && Integer.parseInt(text.substring(colon + 1)) <= MOST_PORT);
  }
}
