package io.pointsman.proxy.quota;

import io.pointsman.proxy.identity.ClientQuota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The use of one client's limits for one model. Thread-safe. */
final class ClientAccount {
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration DAY = Duration.ofDays(1);

  private ClientQuota quota = ClientQuota.NONE;

  /** In the order of their limits. */
  private Allowance[] allowances = {};

  private int active;

  /** Takes the place of a request, or reports the limit that is reached longest. */
  synchronized QuotaAnswer enter(ClientQuota present, long promptTokens, long now) {
    if (!present.equals(quota)) {
      adopt(present, now);
    }
    Allowance reached = null;
    long longest = 0;
    for (Allowance each : allowances) {
      each.bucket().fill(now);
      long nanos = each.bucket().nanosTo((double) needed(each.limit(), promptTokens));
      if (nanos > longest) {
        longest = nanos;
        reached = each;
      }
    }
    if (reached != null) {
      return new QuotaAnswer.Refused(
          reached.limit(), reached.bucket().most(), longest, QuotaHeaders.of(allowances));
    }
    if (quota.concurrency() > 0 && active >= quota.concurrency()) {
      return new QuotaAnswer.Refused(
          ClientLimit.CONCURRENCY, quota.concurrency(), 0, QuotaHeaders.of(allowances));
    }
    active++;
    for (Allowance each : allowances) {
      each.bucket().take((double) taken(each.limit(), promptTokens));
    }
    return new QuotaAnswer.Admitted(
        this, promptTokens, quota.ofTokens(), QuotaHeaders.of(allowances));
  }

  private static long needed(ClientLimit limit, long promptTokens) {
    return switch (limit) {
      case PROMPT_TOKENS_PER_MINUTE, TOKENS_PER_DAY -> Math.max(1, promptTokens);
      case REQUESTS_PER_MINUTE, REQUESTS_PER_DAY, OUTPUT_TOKENS_PER_MINUTE, CONCURRENCY -> 1;
    };
  }

  /** The amount that a request takes at its begin. */
  private static long taken(ClientLimit limit, long promptTokens) {
    return switch (limit) {
      case REQUESTS_PER_MINUTE, REQUESTS_PER_DAY -> 1;
      case PROMPT_TOKENS_PER_MINUTE, TOKENS_PER_DAY -> promptTokens;
      case OUTPUT_TOKENS_PER_MINUTE, CONCURRENCY -> 0;
    };
  }

  /** The amount that a request takes at its end. */
  private static long taken(ClientLimit limit, long morePrompt, long output) {
    return switch (limit) {
      case PROMPT_TOKENS_PER_MINUTE -> morePrompt;
      case OUTPUT_TOKENS_PER_MINUTE -> output;
      case TOKENS_PER_DAY -> morePrompt + output;
      case REQUESTS_PER_MINUTE, REQUESTS_PER_DAY, CONCURRENCY -> 0;
    };
  }

  private void adopt(ClientQuota next, long now) {
    List<Allowance> made = new ArrayList<>();
    for (ClientLimit limit : ClientLimit.values()) {
      int most =
          switch (limit) {
            case REQUESTS_PER_MINUTE -> next.requestsPerMinute();
            case REQUESTS_PER_DAY -> next.requestsPerDay();
            case PROMPT_TOKENS_PER_MINUTE -> next.promptTokensPerMinute();
            case OUTPUT_TOKENS_PER_MINUTE -> next.outputTokensPerMinute();
            case TOKENS_PER_DAY -> next.tokensPerDay();
            case CONCURRENCY -> 0; // counted apart
          };
      if (most > 0) {
        made.add(allowance(limit, most, now));
      }
    }
    allowances = made.toArray(Allowance[]::new);
    quota = next;
  }

  /** The allowance of a limit, with the use so far. */
  private Allowance allowance(ClientLimit limit, int most, long now) {
    Allowance former = former(limit);
    if (former != null && former.bucket().most() == most) {
      return former;
    }
    boolean ofDay = limit == ClientLimit.REQUESTS_PER_DAY || limit == ClientLimit.TOKENS_PER_DAY;
    TokenBucket bucket = new TokenBucket(most, ofDay ? DAY : MINUTE, now);
    if (former != null) {
      former.bucket().fill(now);
      bucket.follow(former.bucket());
    }
    return Allowance.of(limit, bucket);
  }

  private @Nullable Allowance former(ClientLimit limit) {
    for (Allowance each : allowances) {
      if (each.limit() == limit) {
        return each;
      }
    }
    return null;
  }

  /**
   * Ends a request.
   *
   * @param morePrompt tokens of the prompt beyond the estimate; may be negative
   */
  synchronized void leave(long morePrompt, long output, long now) {
    active--;
    spend(morePrompt, output, now);
  }

  /** Takes tokens beyond those of the begin. */
  synchronized void spend(long morePrompt, long output, long now) {
    for (Allowance each : allowances) {
      each.bucket().fill(now);
      each.bucket().take((double) taken(each.limit(), morePrompt, output));
    }
  }

  /** True if a request is in progress. */
  synchronized boolean busy() {
    return active > 0;
  }

  /** True if a new account would have the same state. */
  synchronized boolean unused(long now) {
    for (Allowance each : allowances) {
      each.bucket().fill(now);
      if (each.bucket().share() < 1) {
        return false;
      }
    }
    return active == 0;
  }
}
