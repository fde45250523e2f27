package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.bytes;
import static io.pointsman.app.config.value.ValueTypes.decimal;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.integer;

import io.pointsman.app.kvtokens.TokenSettings;
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
          "Whether an engine is asked for the token ids of each new prompt that came as text, after"
              + " the request has been sent on; only while engines' announcements are heard and"
              + " kv_aware or cost can use them.",
          "false leaves prompts of text to what was placed where; true costs engines"
              + " renderings or tokenisations, within kv-tokens.share.");

  public static final Key<Double> SHARE =
      Key.of(
          "kv-tokens.share",
          decimal(TokenSettings.LEAST_SHARE, 1),
          DEFAULTS.share(),
          "Share of each engine's time that such questions may take: after an answer that took 5 ms"
              + " an engine is left alone for 0.5 s with 0.01. Below 1 an engine gets one question"
              + " at a time; 1 sets no limit.",
          "Small leaves more prompts to what was placed where; large slows requests down, by half"
              + " on engines without a GPU.");

  public static final Key<Integer> AT_ONCE =
      Key.of(
          "kv-tokens.at-once",
          integer(1, TokenSettings.MOST_AT_ONCE),
          DEFAULTS.atOnce(),
          "Such questions under way at most, to all engines together.",
          "Few leave prompts unasked for under load; many burden engines' front ends.");

  public static final Key<Integer> QUEUE =
      Key.of(
          "kv-tokens.queue",
          integer(1, TokenSettings.LONGEST_QUEUE),
          DEFAULTS.queue(),
          "Prompts that wait to be asked for at most, and 32 MiB of them; further ones are not.",
          "Long learns of prompts whose next turn may have come already.");

  public static final Key<Duration> TIMEOUT =
      Key.of(
          "kv-tokens.timeout",
          duration(Duration.ofMillis(1), Duration.ofMinutes(1)),
          DEFAULTS.timeout(),
          "Longest wait for an answer; the engine is left alone for 1 s then, up to 1 min if it"
              + " goes on.",
          "No request waits for it. Long holds up other questions.");

  public static final Key<Long> MAX_BYTES =
      Key.of(
          "kv-tokens.max-bytes",
          bytes(TokenSettings.LEAST_BYTES, 1L << 36),
          DEFAULTS.maxBytes(),
          "Memory of what was learned; taken as needed, what was not used for long makes room. A"
              + " prompt of 4,000 tokens takes about 2 KiB.",
          "Small forgets conversations before their next turn.");

  private KvTokenKeys() {}

  static List<Key<?>> all() {
    return List.of(ENABLED, SHARE, AT_ONCE, QUEUE, TIMEOUT, MAX_BYTES);
  }
}
