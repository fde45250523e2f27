package io.pointsman.app.config.value;

import java.util.Map;

/**
 * How workers are chosen for one model.
 *
 * @param settings values by the paths of their keys, {@code policy} among them, each as it is
 *     written on one line; what is not there is as for all models
 */
public record ModelPolicy(String model, Map<String, String> settings) {
  public ModelPolicy {
    settings = Map.copyOf(settings);
    if (model.isBlank()) {
      throw new IllegalArgumentException("model: missing (expected: a model's name)");
    }
  }
}
