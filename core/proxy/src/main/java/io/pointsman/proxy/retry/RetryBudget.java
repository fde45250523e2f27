package io.pointsman.proxy.retry;

/**
 * Token bucket for retries; each retry takes a token. It fills with a share of the traffic and at a
 * low steady rate. Retries therefore remain a fraction of the requests, even if many workers fail.
 * Tokens from recent traffic can accumulate: a silent worker delays the requests of seconds, and
 * all are retried together. The bucket starts with the maximum of the steady rate. One per event
 * loop, to which it belongs.
 */
public final class RetryBudget {
  /** Maximum accumulation at the steady rate, in seconds. */
  private static final double STEADY_SECONDS = 30;

  /**
   * Time constant in seconds with which tokens from traffic expire; also their maximum
   * accumulation.
   */
  private static final double EARNED_SECONDS = 10;

  private static final double NANOS_PER_SECOND = 1e9;

  private final double share;
  private final double perSecond;

  /** Maximum number of tokens without traffic. */
  private final double least;

  /** Tokens from recent traffic. */
  private double earned;

  private double tokens;
  private long filledAt;

  /**
   * @param loops number of event loops, at least 1. They share the steady rate and its maximum;
   *     each has at least enough tokens for one request
   */
  public RetryBudget(RetrySettings settings, int loops, long now) {
    share = settings.budgetShare();
    perSecond = settings.budgetPerSecond() / loops;
    least = Math.max(settings.maxAttempts(), perSecond * STEADY_SECONDS);
    tokens = settings.budgetPerSecond() > 0 ? least : 0;
    filledAt = now;
  }

  /** Adds the share of an admitted request. */
  public void deposit(long now) {
    fill(now);
    earned += share;
    tokens += share;
  }

  /** Returns true if there is a token for a retry. */
  public boolean has(long now) {
    fill(now);
    return tokens >= 1;
  }

  /** Takes a token for a retry. Returns false if there is none. */
  public boolean withdraw(long now) {
    fill(now);
    if (tokens < 1) {
      return false;
    }
    tokens -= 1;
    return true;
  }

  private void fill(long now) {
    double seconds = (now - filledAt) / NANOS_PER_SECOND;
    filledAt = now;
    earned *= Math.exp(-seconds / EARNED_SECONDS);
    tokens = Math.min(least + earned, tokens + seconds * perSecond);
  }
}
