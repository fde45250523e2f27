package io.pointsman.proxy.retry;

/**
 * A bucket of tokens, one for each retry: it fills with a share of the traffic and at a small
 * steady rate, so that retries stay a fraction of what was asked for however many workers fail. It
 * starts full. One for each event loop, to which it belongs.
 */
public final class RetryBudget {
  /** Tokens kept at most for each token per second: what one bad moment may use up. */
  private static final double BURST_SECONDS = 30;

  private static final double NANOS_PER_SECOND = 1e9;

  private final double share;
  private final double perSecond;
  private final double most;
  private double tokens;
  private long filledAt;

  /**
   * @param loops event loops among which the steady rate is divided, and what one bad moment may
   *     use up, of which each has enough for one request; at least 1
   */
  public RetryBudget(RetrySettings settings, int loops, long now) {
    share = settings.budgetShare();
    perSecond = settings.budgetPerSecond() / loops;
    most = Math.max(settings.maxAttempts(), perSecond * BURST_SECONDS);
    tokens = settings.budgetPerSecond() > 0 ? most : 0;
    filledAt = now;
  }

  /** A request came. */
  public void deposit() {
    tokens = Math.min(most, tokens + share);
  }

  /** Takes a token for a retry; false if there is none. */
  public boolean withdraw(long now) {
    tokens = Math.min(most, tokens + (now - filledAt) / NANOS_PER_SECOND * perSecond);
    filledAt = now;
    if (tokens < 1) {
      return false;
    }
    tokens -= 1;
    return true;
  }
}
