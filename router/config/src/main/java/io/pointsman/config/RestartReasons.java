package io.pointsman.config;

import io.pointsman.config.key.Key;
import io.pointsman.engine.fleet.FleetSettings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The keys that a running router cannot change, with the reasons. */
public final class RestartReasons {
  /** Paths of keys by reason. */
  private static final Map<String, List<String>> KEYS = keys();

  /** Reasons of keys that cannot change under some configurations, by path. */
  private static final Map<String, String> SOMETIMES =
      Map.of(
          "max-workers",
              "tables for more than "
                  + String.format(Locale.ROOT, "%,d", FleetSettings.LEAST_SLOTS)
                  + " workers are made at the start",
          "listen.backlog", "the transport nio cannot change it",
          "tls.client-ca-file",
              "stored files would belong to another client; use another batch.directory",
          "auth.keys-file",
              "stored files would belong to another client; use another batch.directory",
          "auth.keys-env",
              "stored files would belong to another client; use another batch.directory",
          "auth.validation-urls",
              "stored files would belong to another client; use another batch.directory");

  private RestartReasons() {}

  private static Map<String, List<String>> keys() {
    Map<String, List<String>> keys = new LinkedHashMap<>();
    keys.put("the event loops are made at the start", List.of("event-loop-threads", "transport"));
    return keys;
  }

  /** The reason why a running router cannot change a key; null if it can. */
  public static @Nullable String of(Key<?> key) {
    for (Map.Entry<String, List<String>> each : KEYS.entrySet()) {
      for (String path : each.getValue()) {
        if (key.path().equals(path)) {
          return each.getKey();
        }
      }
    }
    return null;
  }

  /** The reason why a running router refuses the change of a key. */
  public static String why(Key<?> key) {
    String always = of(key);
    return always == null
        ? SOMETIMES.getOrDefault(key.path(), "it cannot change with the other keys in force")
        : always;
  }

  /** The rows of a table for people: keys, and the reason. */
  static String table() {
    StringBuilder table = new StringBuilder();
    KEYS.forEach(
        (reason, paths) ->
            table
                .append("| `")
                .append(String.join("`, `", paths))
                .append("` | ")
                .append(reason)
                .append(" |\n"));
    return table.toString();
  }
}
