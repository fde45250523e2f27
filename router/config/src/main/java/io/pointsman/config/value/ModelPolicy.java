package io.pointsman.config.value;

import java.util.Map;

/**
 * The policy settings of one model.
 *
 * @param settings values by key path, including {@code policy}, each in its form on one line;
 *     missing keys have the values for all models
 */
public record ModelPolicy(String model, Map<String, String> settings) {
  public ModelPolicy {
    settings = Map.copyOf(settings);
    if (model.isBlank()) {
      throw new IllegalArgumentException("model: missing (expected: a model's name)");
    }
  }
}
