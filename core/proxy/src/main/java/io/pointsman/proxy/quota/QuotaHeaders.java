package io.pointsman.proxy.quota;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The headers about limits, as OpenAI's API has them: {@code x-ratelimit-limit-requests}, {@code
 * -remaining-requests}, {@code -reset-requests}, and the same for tokens. Of several limits on
 * requests, or on tokens, they show the one that is used most.
 */
final class QuotaHeaders {
  private static final String PREFIX = "x-ratelimit-";
  private static final String LINE_END = "\r\n";

  /** Usual length of all lines. */
  private static final int LENGTH = 256;

  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long MILLIS_PER_SECOND = 1000;
  private static final long SECONDS_PER_MINUTE = 60;
  private static final long MINUTES_PER_HOUR = 60;

  private QuotaHeaders() {}

  /** Header lines, each with its line break. */
  static String of(Map<ClientLimit, TokenBucket> buckets) {
    TokenBucket requests = null;
    TokenBucket tokens = null;
    for (Map.Entry<ClientLimit, TokenBucket> each : buckets.entrySet()) {
      if (each.getKey().ofTokens()) {
        tokens = nearer(tokens, each.getValue());
      } else {
        requests = nearer(requests, each.getValue());
      }
    }
    StringBuilder lines = new StringBuilder(LENGTH);
    if (requests != null) {
      append(lines, "requests", requests);
    }
    if (tokens != null) {
      append(lines, "tokens", tokens);
    }
    return lines.toString();
  }

  private static TokenBucket nearer(@Nullable TokenBucket nearest, TokenBucket other) {
    return nearest == null || other.share() < nearest.share() ? other : nearest;
  }

  private static void append(StringBuilder lines, String unit, TokenBucket bucket) {
    name(lines, "limit-", unit).append(bucket.most()).append(LINE_END);
    name(lines, "remaining-", unit).append(bucket.remaining()).append(LINE_END);
    name(lines, "reset-", unit).append(time(bucket.nanosToFull())).append(LINE_END);
  }

  private static StringBuilder name(StringBuilder lines, String kind, String unit) {
    return lines.append(PREFIX).append(kind).append(unit).append(": ");
  }

  /** A time such as {@code 120ms}, {@code 7s}, {@code 6m0s} or {@code 23h0m1s}, rounded up. */
  static String time(long nanos) {
    long millis = (nanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI;
    if (millis < MILLIS_PER_SECOND) {
      return millis + "ms";
    }
    long seconds = (millis + MILLIS_PER_SECOND - 1) / MILLIS_PER_SECOND;
    long minutes = seconds / SECONDS_PER_MINUTE;
    long hours = minutes / MINUTES_PER_HOUR;
    String rest = seconds % SECONDS_PER_MINUTE + "s";
    if (minutes == 0) {
      return rest;
    }
    return (hours == 0 ? "" : hours + "h") + minutes % MINUTES_PER_HOUR + "m" + rest;
  }
}
