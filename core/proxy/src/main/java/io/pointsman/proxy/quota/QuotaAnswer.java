package io.pointsman.proxy.quota;

import org.jspecify.annotations.Nullable;

/** The answer to a request by the limits of its client. */
public sealed interface QuotaAnswer {
  /** A request that no limit applies to. */
  Admitted UNLIMITED = new Admitted(null, 0, false, "");

  /** Header lines about the limits, each with its line break; empty without limits. */
  String headers();

  /**
   * The request may proceed. It must be ended once.
   *
   * @param promptTokens tokens of the prompt that were taken
   * @param ofTokens true if the end needs counts of tokens
   */
  record Admitted(
      @Nullable ClientAccount account, long promptTokens, boolean ofTokens, String headers)
      implements QuotaAnswer {
    /** Takes tokens of a request that goes on. */
    public void spend(long prompt, long output, long now) {
      if (account != null) {
        account.spend(prompt, output, now);
      }
    }

    /**
     * Ends the request.
     *
     * @param prompt tokens of the prompt
     * @param output tokens of the answer
     */
    public void end(long prompt, long output, long now) {
      if (account != null) {
        account.leave(prompt - promptTokens, output, now);
      }
    }
  }

  /**
   * A limit is reached.
   *
   * @param most the limit
   * @param nanos time until the request may succeed; 0 if it is unknown
   */
  record Refused(ClientLimit limit, int most, long nanos, String headers) implements QuotaAnswer {}
}
