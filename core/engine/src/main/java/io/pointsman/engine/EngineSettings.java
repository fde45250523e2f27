package io.pointsman.engine;

import static java.util.Objects.requireNonNull;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the engine that do not depend on the policy.
 *
 * @param unknownModel action for a request if no worker is known to serve its model
 * @param expectedModels models that may have no worker for a time; a request for one of them, or
 *     for an adapter {@code model:adapter}, is rejected as temporarily unavailable
 */
public record EngineSettings(UnknownModel unknownModel, Set<String> expectedModels) {

  public static final EngineSettings DEFAULTS = new EngineSettings(UnknownModel.REJECT);

  /** Settings without expected models. */
  public EngineSettings(UnknownModel unknownModel) {
    this(unknownModel, Set.of());
  }

  public EngineSettings {
    requireNonNull(unknownModel, "unknownModel");
    expectedModels = Set.copyOf(expectedModels);
  }

  /** Returns true if {@code model}, or the base of this adapter, is expected. */
  boolean expects(@Nullable String model) {
    return expects(expectedModels, model);
  }

  /** Returns true if {@code model}, or the base of this adapter, is one of {@code expected}. */
  static boolean expects(Set<String> expected, @Nullable String model) {
    if (model == null || expected.isEmpty()) {
      return false;
    }
    int colon = model.indexOf(':');
    return expected.contains(model) || (colon > 0 && expected.contains(model.substring(0, colon)));
  }
}
