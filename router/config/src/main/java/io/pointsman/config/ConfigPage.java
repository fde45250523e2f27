package io.pointsman.config;

import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;

/** Generates {@code docs/reference/configuration.md}, the page with all keys. */
public final class ConfigPage {
  private static final String INTRODUCTION =
      """
      # Configuration

      `pointsman serve` reads a YAML file (`--config FILE`), flags, or both. A flag overrides the file.
      The router does not start if a key is unknown, appears twice, or has an invalid value. The error
      names the line and, for a misspelled key, the nearest name. To check a configuration, run
      `pointsman check-config --all` with the same file and flags. It prints the resulting values.

      ```yaml
      listen:
        host: 0.0.0.0
        port: 8080
      workers:
        - http://10.0.0.1:8000
        - url: http://10.0.0.2:8000
          id: big-one
          models: [llama-70b]
          max-in-flight: 256
          labels: {zone: a}
      policy: cost
      health:
        interval: 5s
      ```

      To give a list on the command line, repeat the flag or separate the items with commas:
      `--workers http://10.0.0.1:8000,http://10.0.0.2:8000`. A flag without a value means `true`.

      A worker is a URL or a group with these keys:

      | Key | Meaning |
      |---|---|
      | `url` | base URL of the engine |
      | `id` | unique name for clients and metrics; default `host:port`, or `host:port@rank` with a rank |
      | `role` | `regular` (default), `prefill` or `decode` |
      | `models` | names of the models; by default the router reads them from `/v1/models`. A healthy engine that lists none counts as serving every model |
      | `max-in-flight` | maximum number of requests in progress; `0` (default): no limit |
      | `rank` | data-parallel rank within the engine |
      | `bootstrap-port`, `kv-address`, `receiver` | addresses for [prefill and decode protocols](../disaggregation.md) |
      | `weight` | capacity in relation to other workers, 0.01 to 100; `1` by default. Policies that compare loads or costs divide by it |
      | `node`, `zone` | location of the worker, see `locality.node` and `locality.zone` |
      | `tls-ca-file`, `tls-certificate-file`, `tls-key-file`, `tls-server-name`, `tls-insecure-skip-verify` | this worker's values in place of `engine-tls.*` |
      | `labels` | other names with values |

      On SIGHUP, after `POST /config/reload`, and after a change of the file, a running router reads
      the same file and flags again and applies [most keys](../operate.md#change-the-configuration).
      For workers this means:

      - New workers get requests after their first good probe.
      - Removed workers get no new requests and finish their current ones.
      - A worker with changed settings is replaced.
      - A worker that was removed through the API returns; workers that were added through the API stay.

      The router applies nothing if the configuration is invalid or a key has changed that needs a
      restart. The same holds if `max-workers` is too low for the new workers together with removed
      ones that still finish requests. The log contains the reason.

      This page is generated from the registry of keys; a test compares the two.
      """;

  private ConfigPage() {}

  /** The page in Markdown. */
  public static String text() {
    StringBuilder out = new StringBuilder(INTRODUCTION);
    for (ConfigKeys.Section section : ConfigKeys.sections()) {
      out.append("\n## ").append(section.title()).append('\n');
      section.keys().forEach(key -> append(out, key));
    }
    return out.toString();
  }

  private static <T> void append(StringBuilder out, Key<T> key) {
    String standard = key.type().format(key.defaultValue()).replace("\"off\"", "off");
    out.append("\n### `").append(key.path()).append("`\n\n");
    out.append(key.meaning()).append(' ').append(key.extremes()).append("\n\n");
    out.append("Flag `").append(key.flag()).append("`; ").append(key.type().expected());
    out.append("; default `").append(standard).append("`.\n");
  }
}
