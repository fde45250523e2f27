package io.pointsman.proxy.quota;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.identity.ClientQuota;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;

/** The use of one client's limits for one model. Thread-safe. */
final class ClientAccount {
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration DAY = Duration.ofDays(1);

  private ClientQuota quota = ClientQuota.NONE;
  private final Map<ClientLimit, TokenBucket> buckets = new EnumMap<>(ClientLimit.class);
  private int active;

  /** Takes the place of a request, or reports the limit that is reached longest. */
  synchronized QuotaAnswer enter(ClientQuota present, long promptTokens, long now) {
    if (!present.equals(quota)) {
      adopt(present, now);
    }
    buckets.values().forEach(bucket -> bucket.fill(now));
    ClientLimit reached = null;
    long longest = 0;
    for (Map.Entry<ClientLimit, TokenBucket> each : buckets.entrySet()) {
      long nanos = each.getValue().nanosTo((double) needed(each.getKey(), promptTokens));
      if (nanos > longest) {
        longest = nanos;
        reached = each.getKey();
      }
    }
    if (reached != null) {
      int most = requireNonNull(buckets.get(reached), "bucket").most();
      return new QuotaAnswer.Refused(reached, most, longest, QuotaHeaders.of(buckets));
    }
    if (quota.concurrency() > 0 && active >= quota.concurrency()) {
      return new QuotaAnswer.Refused(
          ClientLimit.CONCURRENCY, quota.concurrency(), 0, QuotaHeaders.of(buckets));
    }
    active++;
    take(ClientLimit.REQUESTS_PER_MINUTE, 1);
    take(ClientLimit.REQUESTS_PER_DAY, 1);
    take(ClientLimit.PROMPT_TOKENS_PER_MINUTE, promptTokens);
    take(ClientLimit.TOKENS_PER_DAY, promptTokens);
    return new QuotaAnswer.Admitted(this, promptTokens, quota.ofTokens(), QuotaHeaders.of(buckets));
  }

  private static long needed(ClientLimit limit, long promptTokens) {
    return switch (limit) {
      case PROMPT_TOKENS_PER_MINUTE, TOKENS_PER_DAY -> Math.max(1, promptTokens);
      case REQUESTS_PER_MINUTE, REQUESTS_PER_DAY, OUTPUT_TOKENS_PER_MINUTE, CONCURRENCY -> 1;
    };
  }

  private void adopt(ClientQuota next, long now) {
    bucket(ClientLimit.REQUESTS_PER_MINUTE, next.requestsPerMinute(), MINUTE, now);
    bucket(ClientLimit.REQUESTS_PER_DAY, next.requestsPerDay(), DAY, now);
    bucket(ClientLimit.PROMPT_TOKENS_PER_MINUTE, next.promptTokensPerMinute(), MINUTE, now);
    bucket(ClientLimit.OUTPUT_TOKENS_PER_MINUTE, next.outputTokensPerMinute(), MINUTE, now);
    bucket(ClientLimit.TOKENS_PER_DAY, next.tokensPerDay(), DAY, now);
    quota = next;
  }

  private void bucket(ClientLimit limit, int most, Duration period, long now) {
    TokenBucket former = buckets.get(limit);
    if (most <= 0) {
      buckets.remove(limit);
    } else if (former == null || former.most() != most) {
      TokenBucket made = new TokenBucket(most, period, now);
      if (former != null) {
        former.fill(now);
        made.follow(former);
      }
      buckets.put(limit, made);
    }
  }

  private void take(ClientLimit limit, long amount) {
    TokenBucket bucket = buckets.get(limit);
    if (bucket != null) {
      bucket.take((double) amount);
    }
  }

  /**
   * Ends a request.
   *
   * @param morePrompt tokens of the prompt beyond the estimate; may be negative
   */
  synchronized void leave(long morePrompt, long output, long now) {
    active--;
    buckets.values().forEach(bucket -> bucket.fill(now));
    take(ClientLimit.PROMPT_TOKENS_PER_MINUTE, morePrompt);
    take(ClientLimit.OUTPUT_TOKENS_PER_MINUTE, output);
    take(ClientLimit.TOKENS_PER_DAY, morePrompt + output);
  }

  /** True if a request is in progress. */
  synchronized boolean busy() {
    return active > 0;
  }

  /** True if a new account would have the same state. */
  synchronized boolean unused(long now) {
    buckets.values().forEach(bucket -> bucket.fill(now));
    return active == 0 && buckets.values().stream().allMatch(bucket -> bucket.share() >= 1);
  }
}
