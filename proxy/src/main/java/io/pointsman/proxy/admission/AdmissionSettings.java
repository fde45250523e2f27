package io.pointsman.proxy.admission;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How many requests for workers are under way at once, and how many may wait for their turn.
 *
 * @param maxConcurrentRequests most requests at once, each counted until the end of its answer; 0
 *     means no limit
 * @param queueSize most requests that wait; 0 turns those above the limit away at once
 * @param queueTimeout longest wait
 * @param queueTimeoutStatus what a request gets that waited so long: 503, or 408 as vllm-router has
 *     it
 * @param ratePerSecond requests let in per second in the long run; as many as may run at once, or
 *     else one second's worth, may come in a burst. 0 means no limit. Those above it wait in the
 *     same queue.
 * @param queueFullStatus status of the answer to a request that finds the queue full; 400 to 599
 * @param models models with a line of their own; their requests count in no other, nor towards the
 *     rate
 */
public record AdmissionSettings(
    int maxConcurrentRequests,
    int queueSize,
    Duration queueTimeout,
    int queueTimeoutStatus,
    int ratePerSecond,
    int queueFullStatus,
    List<ModelLimit> models) {

  private static final int TOO_MANY = 429;

  public static final AdmissionSettings DEFAULTS =
      new AdmissionSettings(0, 100, Duration.ofSeconds(60), 503);

  /** Without a limit of the rate. */
  public AdmissionSettings(
      int maxConcurrentRequests, int queueSize, Duration queueTimeout, int queueTimeoutStatus) {
    this(maxConcurrentRequests, queueSize, queueTimeout, queueTimeoutStatus, 0);
  }

  /** With 429 for a full queue. */
  public AdmissionSettings(
      int maxConcurrentRequests,
      int queueSize,
      Duration queueTimeout,
      int queueTimeoutStatus,
      int ratePerSecond) {
    this(maxConcurrentRequests, queueSize, queueTimeout, queueTimeoutStatus, ratePerSecond, 429);
  }

  /** With one line for all models. */
  public AdmissionSettings(
      int maxConcurrentRequests,
      int queueSize,
      Duration queueTimeout,
      int queueTimeoutStatus,
      int ratePerSecond,
      int queueFullStatus) {
    this(
        maxConcurrentRequests,
        queueSize,
        queueTimeout,
        queueTimeoutStatus,
        ratePerSecond,
        queueFullStatus,
        List.of());
  }

  public AdmissionSettings {
    models = List.copyOf(models);
    if (models.stream().map(ModelLimit::model).distinct().count() < models.size()) {
      throw new IllegalArgumentException("models: one appears twice (expected: each model once)");
    }
    if (maxConcurrentRequests < 0) {
      throw new IllegalArgumentException(
          "maxConcurrentRequests: " + maxConcurrentRequests + " (expected: >= 0)");
    }
    if (queueSize < 0) {
      throw new IllegalArgumentException("queueSize: " + queueSize + " (expected: >= 0)");
    }
    if (!queueTimeout.isPositive()) {
      throw new IllegalArgumentException("queueTimeout: " + queueTimeout + " (expected: > 0)");
    }
    if (queueTimeoutStatus < 400 || queueTimeoutStatus > 599) {
      throw new IllegalArgumentException(
          "queueTimeoutStatus: " + queueTimeoutStatus + " (expected: 400 to 599)");
    }
    if (queueFullStatus < 400 || queueFullStatus > 599) {
      throw new IllegalArgumentException(
          "queueFullStatus: " + queueFullStatus + " (expected: 400 to 599)");
    }
    if (ratePerSecond < 0) {
      throw new IllegalArgumentException("ratePerSecond: " + ratePerSecond + " (expected: >= 0)");
    }
  }

  /** The settings of a model's own line. */
  AdmissionSettings with(ModelLimit limit) {
    return new AdmissionSettings(
        limit.maxConcurrentRequests(),
        limit.queueSize(),
        queueTimeout,
        queueTimeoutStatus,
        0,
        limit.queueFullStatus());
  }

  /**
   * What those who cannot wait in the queue are told while all workers of {@code model} are busy:
   * where others would wait, the same as when it is full, if that is 429; 503 otherwise. Proxies
   * that ask for decisions pass on these two.
   *
   * @param model null if the request names none
   */
  public int busyStatus(@Nullable String model) {
    ModelLimit own = ofModel(model);
    return own == null ? busyStatus() : with(own).busyStatus();
  }

  private @Nullable ModelLimit ofModel(@Nullable String model) {
    ModelLimit ofBase = null;
    for (ModelLimit limit : models) {
      if (limit.model().equals(model)) {
        return limit;
      }
      if (model != null && model.indexOf(':') == limit.model().length()) {
        ofBase = model.startsWith(limit.model()) ? limit : ofBase;
      }
    }
    return ofBase;
  }

  private int busyStatus() {
    return maxConcurrentRequests > 0 && queueFullStatus == TOO_MANY ? TOO_MANY : 503;
  }
}
