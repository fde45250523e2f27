package io.pointsman.app.decide;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.choice.HoldSettings;

/**
 * Whether other planes may ask this router where to send requests.
 *
 * @param enabled whether the endpoints exist, on the port that clients use
 * @param hold bounds of what is held for them
 */
public record DecideSettings(boolean enabled, HoldSettings hold) {
  public static final DecideSettings DEFAULTS = new DecideSettings(true, HoldSettings.DEFAULTS);

  public DecideSettings {
    requireNonNull(hold, "hold");
  }
}
