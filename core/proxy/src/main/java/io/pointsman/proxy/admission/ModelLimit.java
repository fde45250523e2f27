package io.pointsman.proxy.admission;

/**
 * Limit of one model, in place of the common limit. Requests for its adapters, {@code
 * model:adapter}, count too.
 *
 * @param model name of the model
 * @param maxConcurrentRequests maximum number of its requests in progress, each until the end of
 *     its answer; at least 1
 * @param queueSize maximum number of waiting requests; 0 rejects requests above the limit
 *     immediately
 * @param queueFullStatus status of the answer to a request if the queue is full; 400 to 599
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
