package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.integer;

import io.pointsman.proxy.identity.ClientQuota;
import java.util.List;

/** Keys of the limits that each client has for each model. */
public final class ClientLimitKeys {
  private static final int MOST = Integer.MAX_VALUE;
  private static final String REFUSED =
      " Further requests get 429 with `Retry-After` and `x-ratelimit-*` headers.";

  public static final Key<Integer> CONCURRENCY =
      key(
          "concurrency",
          ClientQuota.NONE.concurrency(),
          "Maximum number of requests in progress of a client for a model. Further requests get"
              + " 429.",
          "`0`: no limit. A client is its key (`auth.keys-file`, `auth.keys-env`,"
              + " `auth.validation-urls`), else its certificate, else its address. Keys can have"
              + " limits of their own.");

  public static final Key<Integer> REQUESTS_PER_MINUTE =
      key(
          "requests-per-minute",
          ClientQuota.NONE.requestsPerMinute(),
          "Requests of a client for a model in a minute, also the largest burst." + REFUSED,
          "`0`: no limit. Every request for a worker counts, also one that fails.");

  public static final Key<Integer> PROMPT_TOKENS =
      key(
          "prompt-tokens-per-minute",
          ClientQuota.NONE.promptTokensPerMinute(),
          "Tokens of prompts of a client for a model in a minute." + REFUSED,
          "`0`: no limit. A prompt counts by an estimate first, and at its end as the engine counts"
              + " it. A prompt above the limit needs a whole unused minute.");

  public static final Key<Integer> OUTPUT_TOKENS =
      key(
          "output-tokens-per-minute",
          ClientQuota.NONE.outputTokensPerMinute(),
          "Tokens of answers of a client for a model in a minute." + REFUSED,
          "`0`: no limit. An answer counts at its end, so answers in progress can exceed the limit;"
              + " later requests wait for it. In a stream without counts each chunk is a token.");

  public static final Key<Integer> REQUESTS_PER_DAY =
      key(
          "requests-per-day",
          ClientQuota.NONE.requestsPerDay(),
          "Requests of a client for a model in 24 hours. They return evenly over the day."
              + REFUSED,
          "`0`: no limit. A restart of the router begins a new day.");

  public static final Key<Integer> TOKENS_PER_DAY =
      key(
          "tokens-per-day",
          ClientQuota.NONE.tokensPerDay(),
          "Tokens of prompts and answers of a client for a model in 24 hours. They return evenly"
              + " over the day."
              + REFUSED,
          "`0`: no limit. A restart of the router begins a new day.");

  private ClientLimitKeys() {}

  private static Key<Integer> key(String name, int usual, String meaning, String extremes) {
    return Key.of("client-limits." + name, integer(0, MOST), usual, meaning, extremes);
  }

  static List<Key<?>> all() {
    return List.of(
        CONCURRENCY,
        REQUESTS_PER_MINUTE,
        PROMPT_TOKENS,
        OUTPUT_TOKENS,
        REQUESTS_PER_DAY,
        TOKENS_PER_DAY);
  }
}
