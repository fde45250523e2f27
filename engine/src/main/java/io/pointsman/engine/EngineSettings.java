package io.pointsman.engine;

import static java.util.Objects.requireNonNull;

/**
 * How the engine decides, whatever the policy.
 *
 * @param unknownModel what to do with a request for a model that no worker is known to serve
 */
public record EngineSettings(UnknownModel unknownModel) {

  public static final EngineSettings DEFAULTS = new EngineSettings(UnknownModel.REJECT);

  public EngineSettings {
    requireNonNull(unknownModel, "unknownModel");
  }
}
