package io.pointsman.proxy.retry;

/**
 * A bucket of tokens, one for each retry: it fills with a share of the traffic and at a small
 * steady rate, so that in the long run retries stay a fraction of what is asked for however many
 * workers fail. It keeps what traffic has earned of late: a worker that falls silent takes the
 * requests of seconds with it, which are to be tried again at once. It starts with what the steady
 * rate may save up. One for each event loop, to which it belongs.
 */
public final class RetryBudget {
  /** So many seconds of the steady rate may be saved up. */
  private static final double STEADY_SECONDS = 30;

  /** So many seconds of what traffic earns may be saved up; it is forgotten with this constant. */
  private static final double EARNED_SECONDS = 10;

  private static final double NANOS_PER_SECOND = 1e9;

  private final double share;
  private final double perSecond;

  /** Tokens that may be saved up whatever the traffic. */
  private final double least;

  /** What traffic has earned of late. */
  private double earned;

  private double tokens;
  private long filledAt;

  /**
   * @param loops event loops among which the steady rate is divided, and what it may save up, of
   *     which each has enough for one request; at least 1
   */
  public RetryBudget(RetrySettings settings, int loops, long now) {
    share = settings.budgetShare();
    perSecond = settings.budgetPerSecond() / loops;
    least = Math.max(settings.maxAttempts(), perSecond * STEADY_SECONDS);
    tokens = settings.budgetPerSecond() > 0 ? least : 0;
    filledAt = now;
  }

  /** A request was admitted. */
  public void deposit(long now) {
    fill(now);
    earned += share;
    tokens += share;
  }

  /** Takes a token for a retry; false if there is none. */
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
