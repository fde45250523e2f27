package io.pointsman.engine.policy.cost;

/**
 * What a request would cost on one worker, taken apart.
 *
 * @param tokens of its prompt
 * @param uncached how many of them the worker would compute
 * @param own milliseconds that it would take for them alone
 * @param ttft milliseconds until the first token
 * @param price milliseconds that the work costs others
 */
record Estimate(int tokens, int uncached, double own, double ttft, double price) {
  double cost() {
    return ttft + price;
  }

  /** Milliseconds that the request would wait for others. */
  double waiting() {
    return ttft - own;
  }
}
