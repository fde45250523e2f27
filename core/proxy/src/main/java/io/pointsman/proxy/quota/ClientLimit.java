package io.pointsman.proxy.quota;

import java.util.Locale;

/** The limits of a client. A closed set, used as a metric label. */
public enum ClientLimit {
  CONCURRENCY("requests in progress"),
  REQUESTS_PER_MINUTE("requests per minute"),
  REQUESTS_PER_DAY("requests per day"),
  PROMPT_TOKENS_PER_MINUTE("prompt tokens per minute"),
  OUTPUT_TOKENS_PER_MINUTE("output tokens per minute"),
  TOKENS_PER_DAY("tokens per day");

  private final String text;

  ClientLimit(String text) {
    this.text = text;
  }

  /** The limit in headers and metrics, for example {@code requests_per_day}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The limit in messages. */
  public String text() {
    return text;
  }

  /** True for a limit on tokens. */
  public boolean ofTokens() {
    return switch (this) {
      case PROMPT_TOKENS_PER_MINUTE, OUTPUT_TOKENS_PER_MINUTE, TOKENS_PER_DAY -> true;
      case CONCURRENCY, REQUESTS_PER_MINUTE, REQUESTS_PER_DAY -> false;
    };
  }
}
