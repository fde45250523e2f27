package io.pointsman.engine.policy.cost;

/**
 * The estimated cost of a request on one worker, in parts. Times are in milliseconds.
 *
 * @param tokens length of the prompt in tokens
 * @param uncached tokens that the worker would compute
 * @param own time to compute them alone
 * @param ttft time to the first token
 * @param price time that other requests lose
 */
public record Estimate(int tokens, int uncached, double own, double ttft, double price) {
  /** Returns the whole cost. */
  public double cost() {
    return ttft + price;
  }

  /** Returns the time that the request would wait for others. */
  public double waiting() {
    return ttft - own;
  }
}
