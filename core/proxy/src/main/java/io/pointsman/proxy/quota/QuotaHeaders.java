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
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long MILLIS_PER_SECOND = 1000;
  private static final long SECONDS_PER_MINUTE = 60;
  private static final long MINUTES_PER_HOUR = 60;

  private QuotaHeaders() {}

  /** Header lines, each with its line break. */
  static String of(Map<ClientLimit, TokenBucket> buckets) {
    return lines("requests", nearest(buckets, false)) + lines("tokens", nearest(buckets, true));
  }

  private static @Nullable TokenBucket nearest(
      Map<ClientLimit, TokenBucket> buckets, boolean ofTokens) {
    TokenBucket nearest = null;
    for (Map.Entry<ClientLimit, TokenBucket> each : buckets.entrySet()) {
      boolean asked = each.getKey().ofTokens() == ofTokens;
      if (asked && (nearest == null || each.getValue().share() < nearest.share())) {
        nearest = each.getValue();
      }
    }
    return nearest;
  }

  private static String lines(String unit, @Nullable TokenBucket bucket) {
    return bucket == null
        ? ""
        : line("limit-" + unit, Integer.toString(bucket.most()))
            + line("remaining-" + unit, Long.toString(bucket.remaining()))
            + line("reset-" + unit, time(bucket.nanosToFull()));
  }

  private static String line(String name, String value) {
    return PREFIX + name + ": " + value + "\r\n";
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
