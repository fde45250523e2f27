package io.pointsman.api.keys;

import io.pointsman.config.ConfigException;
import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.RawValue;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The limits of a key as text: fields with the names of {@code client-limits.*}. */
public final class QuotaFields {
  static final List<String> NAMES =
      List.of(
          "concurrency",
          "requests-per-minute",
          "prompt-tokens-per-minute",
          "output-tokens-per-minute",
          "requests-per-day",
          "tokens-per-day");

  private QuotaFields() {}

  /**
   * The limits with these values.
   *
   * @throws IllegalArgumentException if a name or value is invalid
   */
  public static ClientQuota of(Map<String, String> fields) {
    int[] values = new int[NAMES.size()];
    for (int i = 0; i < values.length; i++) {
      String written = fields.get(NAMES.get(i));
      values[i] = written == null ? ClientQuota.UNSET : number(NAMES.get(i), written);
    }
    for (String name : fields.keySet()) {
      if (!NAMES.contains(name)) {
        throw new IllegalArgumentException(
            "limits: " + name + ": unknown limit" + Nearest.hint(name, NAMES));
      }
    }
    return new ClientQuota(values[0], values[1], values[2], values[3], values[4], values[5]);
  }

  private static int number(String name, String written) {
    try {
      int number = Integer.parseInt(written);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // The message below says the same.
    }
    throw new IllegalArgumentException(
        "limits: "
            + name
            + ": "
            + written
            + " (expected: a whole number from 0 to "
            + Integer.MAX_VALUE
            + "; 0: no limit)");
  }

  /**
   * The limits of a key in a file.
   *
   * @param ofEach the field {@code limits}; null if there is none
   * @param byModel the field {@code model-limits}; null if there is none
   */
  static ClientQuotas read(@Nullable RawValue ofEach, @Nullable RawValue byModel) {
    Map<String, ClientQuota> models = new HashMap<>();
    if (byModel != null) {
      if (!(byModel instanceof RawValue.Entries(Map<String, RawValue> entries, _))) {
        throw new ConfigException(
            byModel.where() + ": model-limits: (expected: models with their limits)");
      }
      entries.forEach((model, limits) -> models.put(model, read(limits)));
    }
    return new ClientQuotas(ofEach == null ? ClientQuota.INHERITED : read(ofEach), models);
  }

  private static ClientQuota read(RawValue raw) {
    if (!(raw instanceof RawValue.Entries(Map<String, RawValue> entries, String where))) {
      throw new ConfigException(raw.where() + ": limits: (expected: names with numbers)");
    }
    Map<String, String> fields = new HashMap<>();
    for (Map.Entry<String, RawValue> each : entries.entrySet()) {
      boolean text = each.getValue() instanceof RawValue.Scalar;
      fields.put(
          each.getKey(),
          text ? ((RawValue.Scalar) each.getValue()).text() : each.getValue().toString());
    }
    try {
      return of(fields);
    } catch (IllegalArgumentException e) {
      throw new ConfigException(where + ": " + e.getMessage());
    }
  }

  /** The limits that are set, on one line of YAML; empty if there are none. */
  static String format(ClientQuota quota) {
    Map<String, Integer> set = new LinkedHashMap<>();
    set.put(NAMES.get(0), quota.concurrency());
    set.put(NAMES.get(1), quota.requestsPerMinute());
    set.put(NAMES.get(2), quota.promptTokensPerMinute());
    set.put(NAMES.get(3), quota.outputTokensPerMinute());
    set.put(NAMES.get(4), quota.requestsPerDay());
    set.put(NAMES.get(5), quota.tokensPerDay());
    List<String> parts = new ArrayList<>();
    set.forEach(
        (name, value) -> {
          if (value != ClientQuota.UNSET) {
            parts.add(name + ": " + value);
          }
        });
    return parts.isEmpty() ? "" : "{" + String.join(", ", parts) + "}";
  }
}
