package io.pointsman.proxy.admission;

/**
 * A waiting line of one model's own, in place of that of all models. Requests for its adapters,
 * {@code model:adapter}, stand in it too.
 *
 * @param model the model's name
 * @param maxConcurrentRequests most of its requests at once, each counted until the end of its
 *     answer; at least 1
 * @param queueSize most that wait; 0 turns those above the limit away at once
 * @param queueFullStatus status of the answer to a request that finds the line full; 400 to 599
 */
public record ModelLimit(
    String model, int maxConcurrentRequests, int queueSize, int queueFullStatus) {
  public ModelLimit {
    if (model.isBlank()) {
      throw new IllegalArgumentException("model: missing (expected: a model's name)");
    }
    if (maxConcurrentRequests < 1) {
      throw new IllegalArgumentException(
          "maxConcurrentRequests: " + maxConcurrentRequests + " (expected: >= 1)");
    }
  }
}
