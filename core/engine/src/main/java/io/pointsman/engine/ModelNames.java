package io.pointsman.engine;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Lookup by model name. The name of an adapter may have its base model as prefix: {@code
 * base:adapter}.
 */
public final class ModelNames {
  private ModelNames() {}

  /**
   * Returns the entry of the model, else the entry of its base model, else {@code common}.
   *
   * @param model null if a request names none
   */
  public static <T extends @Nullable Object> T find(
      Map<String, ? extends T> byModel, @Nullable String model, T common) {
    if (model == null || byModel.isEmpty()) {
      return common;
    }
    T own = byModel.get(model);
    int colon = own == null ? model.indexOf(':') : -1;
    T found = colon > 0 ? byModel.get(model.substring(0, colon)) : own;
    return found == null ? common : found;
  }
}
