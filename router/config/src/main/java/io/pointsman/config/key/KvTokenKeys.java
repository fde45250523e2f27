package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;

import io.pointsman.config.settings.TokenSettings;
import java.time.Duration;
import java.util.List;

/** Keys of token ids of texts; without token ids a text cannot be matched with KV events. */
public final class KvTokenKeys {
  private static final TokenSettings DEFAULTS = TokenSettings.DEFAULTS;

  public static final Key<Boolean> ENABLED =
      Key.of(
          "kv-tokens.enabled",
          bool(),
          DEFAULTS.enabled(),
          "Ask an engine for the token ids of each new text prompt, after the request is sent. This"
              + " needs KV events and the policy `kv_aware` or `cost`.",
          "`false`: hits of text prompts are estimated from placements. `true`: engines render or"
              + " tokenize prompts, limited by `kv-tokens.share`.");

  public static final Key<Double> SHARE =
      Key.of(
          "kv-tokens.share",
          decimal(TokenSettings.LEAST_SHARE, 1),
          DEFAULTS.share(),
          "Maximum share of an engine's time for token id requests. The unused share of 100 s is"
              + " kept for later: with `0.01`, a new router can use 1 s at once. Below `1`, an"
              + " engine gets one such request at a time.",
          "`1`: no limit. With a low value, more prompts are estimated from placements. A high"
              + " value slows other requests; on engines without a GPU, by half.");

  public static final Key<Integer> PARALLELISM =
      Key.of(
          "kv-tokens.parallelism",
          integer(1, TokenSettings.MOST_AT_ONCE),
          DEFAULTS.atOnce(),
          "Maximum number of concurrent token id requests to all engines.",
          "With a low value, prompts are skipped under load. A high value loads the engines' front"
              + " ends.");

  public static final Key<Integer> QUEUE =
      Key.of(
          "kv-tokens.queue",
          integer(1, TokenSettings.LONGEST_QUEUE),
          DEFAULTS.queue(),
          "Maximum number of prompts that wait for a token id request. Their total size is at most"
              + " 32 MiB. Further prompts are skipped.",
          "With a high value, the answer for a prompt can arrive after the next turn of its"
              + " conversation.");

  public static final Key<Duration> TIMEOUT =
      Key.of(
          "kv-tokens.timeout",
          duration(Duration.ofMillis(1), Duration.ofMinutes(1)),
          DEFAULTS.timeout(),
          "Maximum wait for token ids. After a timeout, the engine is not asked for 1 s; after"
              + " repeated timeouts, for up to 1 min.",
          "Client requests never wait for it. A high value delays other token id requests.");

  public static final Key<Long> MAX_BYTES =
      Key.of(
          "kv-tokens.max-bytes",
          bytes(TokenSettings.LEAST_BYTES, 1L << 36),
          DEFAULTS.maxBytes(),
          "Memory for known token ids, used as needed. The least recently used ones are removed"
              + " first. A prompt of 4,000 tokens takes about 2 KiB.",
          "A low value removes conversations before their next turn.");

  private KvTokenKeys() {}

  static List<Key<?>> all() {
    return List.of(ENABLED, SHARE, PARALLELISM, QUEUE, TIMEOUT, MAX_BYTES);
  }
}
