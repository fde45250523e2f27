package io.pointsman.proxy.identity;

/**
 * The limits of one client for one model. {@link #NO_LIMIT} is none; {@link #UNSET} is the value of
 * the limits that apply otherwise.
 *
 * @param concurrency maximum number of requests in progress
 * @param requestsPerMinute requests in a minute, also the largest burst
 * @param promptTokensPerMinute tokens of prompts in a minute
 * @param outputTokensPerMinute tokens of answers in a minute
 * @param requestsPerDay requests in 24 hours
 * @param tokensPerDay tokens of prompts and answers in 24 hours
 */
public record ClientQuota(
    int concurrency,
    int requestsPerMinute,
    int promptTokensPerMinute,
    int outputTokensPerMinute,
    int requestsPerDay,
    int tokensPerDay) {
  public static final int NO_LIMIT = 0;
  public static final int UNSET = -1;

  /** No limits. */
  public static final ClientQuota NONE = new ClientQuota(0, 0, 0, 0, 0, 0);

  /** The limits that apply otherwise. */
  public static final ClientQuota INHERITED = new ClientQuota(-1, -1, -1, -1, -1, -1);

  public ClientQuota {
    check("concurrency", concurrency);
    check("requestsPerMinute", requestsPerMinute);
    check("promptTokensPerMinute", promptTokensPerMinute);
    check("outputTokensPerMinute", outputTokensPerMinute);
    check("requestsPerDay", requestsPerDay);
    check("tokensPerDay", tokensPerDay);
  }

  private static void check(String name, int value) {
    if (value < UNSET) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }

  /** True if there is a limit. */
  public boolean any() {
    return concurrency > 0 || requestsPerMinute > 0 || requestsPerDay > 0 || ofTokens();
  }

  /** True if there is a limit on tokens. */
  public boolean ofTokens() {
    return promptTokensPerMinute > 0 || outputTokensPerMinute > 0 || tokensPerDay > 0;
  }

  /** These limits. The others replace limits that are not set. */
  public ClientQuota or(ClientQuota others) {
    return equals(INHERITED)
        ? others
        : new ClientQuota(
            or(concurrency, others.concurrency),
            or(requestsPerMinute, others.requestsPerMinute),
            or(promptTokensPerMinute, others.promptTokensPerMinute),
            or(outputTokensPerMinute, others.outputTokensPerMinute),
            or(requestsPerDay, others.requestsPerDay),
            or(tokensPerDay, others.tokensPerDay));
  }

  private static int or(int own, int other) {
    return own == UNSET ? other : own;
  }
}
