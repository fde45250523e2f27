package io.pointsman.app.config;

import io.pointsman.app.config.key.ConfigKeys;
import io.pointsman.app.config.key.Key;

/** Writes the page that documents every key, {@code docs/reference/configuration.md}. */
public final class ConfigPage {
  private static final String INTRODUCTION =
      """
      # Configuration

      `pointsman serve` reads a YAML file (`--config FILE`), flags, or both; a flag wins over the
      file. A key that is unknown, appears twice or has a value of the wrong kind stops the start,
      with the line and, for a misspelt key, the nearest name. `pointsman check-config` takes the
      same file and flags and prints what would be in force.

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

      A list is given on the command line by repeating the flag or by separating with commas:
      `--workers http://10.0.0.1:8000,http://10.0.0.2:8000`. `true` may be left out after a flag.

      A worker is a URL, or a group of: `url`; `id`, its name to clients and in metrics, of one worker
      only (default `host:port`, with a rank `host:port@rank`); `models`, if they are not to be
      learned from its `/v1/models` (an engine that is well but lists none is taken to serve any
      model); `max-in-flight`, most requests at once (0: no limit); `rank`, the data-parallel rank
      within the engine; `labels`.

      A running router reads the same file and flags again on SIGHUP. It takes over `workers`
      and `log.level`: new workers take traffic after their first good probe, those that are gone
      get no new requests and finish what they have, one whose settings differ is replaced, one
      that was removed through the API is back, those added through the API stay. If anything is
      wrong, any other key has changed, or `max-workers` leaves no place beside workers that still
      finish requests, the log says which and why, and everything stays as it was.

      This page is generated from the registry of keys; a test compares the two.
      """;

  private ConfigPage() {}

  /** The whole page, as Markdown. */
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
