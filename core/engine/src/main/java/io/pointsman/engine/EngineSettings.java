package io.pointsman.engine;

import static java.util.Objects.requireNonNull;

/**
 * Settings of the engine that do not depend on the policy.
 *
 * @param unknownModel action for a request if no worker is known to serve its model
 */
public record EngineSettings(UnknownModel unknownModel) {

  public static final EngineSettings DEFAULTS = new EngineSettings(UnknownModel.REJECT);

  public EngineSettings {
    requireNonNull(unknownModel, "unknownModel");
  }
}
