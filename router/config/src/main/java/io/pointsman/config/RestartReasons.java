package io.pointsman.config;

import io.pointsman.config.key.Key;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The keys that a running router cannot change, with the reasons. */
public final class RestartReasons {
  /** Paths of keys by reason; a path that ends with {@code .*} stands for a group. */
  private static final Map<String, List<String>> KEYS = keys();

  /** Reasons of keys that cannot change under some configurations, by path. */
  private static final Map<String, String> SOMETIMES =
      Map.of(
          "listen.host", "with batch.enabled, batches send their requests to the address",
          "listen.port", "with batch.enabled, batches send their requests to the address",
          "http2.enabled", "the TLS of the listener offers the protocols from the start",
          "auth.keys-file", "with batch.enabled, files would change their owner",
          "auth.keys-env", "with batch.enabled, files would change their owner",
          "auth.validation-urls", "with batch.enabled, files would change their owner");

  private RestartReasons() {}

  private static Map<String, List<String>> keys() {
    Map<String, List<String>> keys = new LinkedHashMap<>();
    keys.put(
        "the socket is opened at the start",
        List.of(
            "listen.backlog",
            "decide.spoe-address",
            "disaggregation.registration-address",
            "disaggregation.notification-address"));
    keys.put(
        "a listener has its TLS from the start; it reads the same files again",
        List.of("tls.*", "admin-tls.*", "metrics-tls.*"));
    keys.put("the event loops are made at the start", List.of("event-loop-threads", "transport"));
    keys.put("threads get it when they start", List.of("system-scheduling"));
    keys.put("tables for this number of workers are made at the start", List.of("max-workers"));
    keys.put(
        "it is part of each worker; change max-in-flight of the workers",
        List.of("disaggregation.max-prefills"));
    keys.put(
        "the handlers of requests are made at the start, with or without two workers",
        List.of("disaggregation.protocol"));
    keys.put(
        "all policies share the index, which is made at the start",
        List.of("kv-aware.index-max-bytes"));
    keys.put("its classes are loaded at the start", List.of("plugins.directory"));
    keys.put(
        "the paths are made at the start",
        List.of(
            "admin.enabled",
            "admin.stack-endpoints",
            "admin.refused-paths",
            "admin.ray-application",
            "models.merged",
            "decide.enabled"));
    keys.put("the table of leases is made at the start", List.of("decide.max-leases"));
    keys.put(
        "the store of files and batches is opened at the start",
        List.of(
            "batch.enabled",
            "batch.directory",
            "batch.max-file",
            "batch.max-total",
            "batch.max-share",
            "batch.max-requests",
            "batch.parallelism",
            "batch.attempts",
            "batch.request-timeout"));
    keys.put(
        "metrics are registered at the start",
        List.of("metrics.enabled", "metrics.vllm-router-names", "metrics.like-production-stack"));
    keys.put(
        "the exporter is made at the start",
        List.of("tracing.enabled", "tracing.endpoint", "tracing.protocol", "tracing.service-name"));
    return keys;
  }

  /** The reason why a running router cannot change a key; null if it can. */
  public static @Nullable String of(Key<?> key) {
    for (Map.Entry<String, List<String>> each : KEYS.entrySet()) {
      for (String path : each.getValue()) {
        boolean same =
            path.endsWith(".*")
                ? key.path().startsWith(path.substring(0, path.length() - 1))
                : key.path().equals(path);
        if (same) {
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
