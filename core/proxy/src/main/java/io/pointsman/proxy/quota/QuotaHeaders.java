package io.pointsman.proxy.quota;

import org.jspecify.annotations.Nullable;

/**
 * The headers about limits, as OpenAI's API has them: {@code x-ratelimit-limit-requests}, {@code
 * -remaining-requests}, {@code -reset-requests}, and the same for tokens. Of several limits on
 * requests, or on tokens, they show the one that is used most.
 */
final class QuotaHeaders {
  /** Usual length of all lines. */
  private static final int LENGTH = 256;

  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long MILLIS_PER_SECOND = 1000;
  private static final long SECONDS_PER_MINUTE = 60;
  private static final long MINUTES_PER_HOUR = 60;

  private QuotaHeaders() {}

  /** Header lines, each with its line break. */
  static String of(Allowance[] allowances) {
    Allowance requests = null;
    Allowance tokens = null;
    for (Allowance each : allowances) {
      if (each.limit().ofTokens()) {
        tokens = nearer(tokens, each);
      } else {
        requests = nearer(requests, each);
      }
    }
    if (requests == null && tokens == null) {
      return "";
    }
    StringBuilder lines = new StringBuilder(LENGTH);
    append(lines, requests);
    append(lines, tokens);
    return lines.toString();
  }

  private static Allowance nearer(@Nullable Allowance nearest, Allowance other) {
    return nearest == null || other.bucket().share() < nearest.bucket().share() ? other : nearest;
  }

  private static void append(StringBuilder lines, @Nullable Allowance allowance) {
    if (allowance != null) {
      TokenBucket bucket = allowance.bucket();
      lines.append(allowance.upToRest()).append(bucket.remaining());
      appendTime(lines.append(allowance.upToReset()), bucket.nanosToFull());
      lines.append("\r\n");
    }
  }

  /**
   * Appends a time such as {@code 120ms}, {@code 7s}, {@code 6m0s} or {@code 23h0m1s}, rounded up.
   */
  static void appendTime(StringBuilder text, long nanos) {
    long millis = (nanos + NANOS_PER_MILLI - 1) / NANOS_PER_MILLI;
    if (millis < MILLIS_PER_SECOND) {
      text.append(millis).append("ms");
      return;
    }
    long seconds = (millis + MILLIS_PER_SECOND - 1) / MILLIS_PER_SECOND;
    long minutes = seconds / SECONDS_PER_MINUTE;
    long hours = minutes / MINUTES_PER_HOUR;
    if (hours > 0) {
      text.append(hours).append('h');
    }
    if (minutes > 0) {
      text.append(minutes % MINUTES_PER_HOUR).append('m');
    }
    text.append(seconds % SECONDS_PER_MINUTE).append('s');
  }
}
