package io.pointsman.proxy.quota;

/**
 * A limit of a client with its present use.
 *
 * @param upToRest lines of {@link QuotaHeaders} up to the rest, which is the first value to change
 * @param upToReset the same from there up to the time of the reset
 */
record Allowance(ClientLimit limit, TokenBucket bucket, String upToRest, String upToReset) {
  private static final String PREFIX = "x-ratelimit-";

  static Allowance of(ClientLimit limit, TokenBucket bucket) {
    String unit = limit.ofTokens() ? "tokens: " : "requests: ";
    String most = PREFIX + "limit-" + unit + bucket.most() + "\r\n";
    return new Allowance(
        limit, bucket, most + PREFIX + "remaining-" + unit, "\r\n" + PREFIX + "reset-" + unit);
  }
}
