package io.pointsman.proxy.admission;

import io.pointsman.proxy.identity.Priority;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Limits on the requests to workers: number in progress, rate, and queue.
 *
 * @param maxConcurrentRequests maximum number of requests in progress, each until the end of its
 *     answer; 0 means no limit
 * @param queueSize maximum number of waiting requests; 0 rejects requests above the limit
 *     immediately
 * @param queueTimeout maximum wait
 * @param queueTimeoutStatus status of the answer after this wait; 400 to 599. Default 503; 408 is
 *     vllm-router's
 * @param ratePerSecond maximum average number of admitted requests per second; 0 means no limit. A
 *     burst may have {@code maxConcurrentRequests}, or the requests of one second without that
 *     limit. Excess requests wait in the same queue
 * @param queueFullStatus status of the answer to a request if the queue is full; 400 to 599
 * @param models models with their own limit; their requests count neither in the common limit nor
 *     towards the rate
 * @param maxPriority highest priority that a client without its own can ask for
 * @param highShare share of the permits that only requests of high priority get, for a minute after
 *     each of them; 0 to 0.5
 */
public record AdmissionSettings(
    int maxConcurrentRequests,
    int queueSize,
    Duration queueTimeout,
    int queueTimeoutStatus,
    int ratePerSecond,
    int queueFullStatus,
    List<ModelLimit> models,
    Priority maxPriority,
    double highShare) {

  /** Default of {@link #highShare}. */
  public static final double HIGH_SHARE = 0.05;

  private static final int TOO_MANY = 429;

  public static final AdmissionSettings DEFAULTS =
      new AdmissionSettings(0, 100, Duration.ofSeconds(60), 503);

  /** Settings without a limit on the rate. */
  public AdmissionSettings(
      int maxConcurrentRequests, int queueSize, Duration queueTimeout, int queueTimeoutStatus) {
    this(maxConcurrentRequests, queueSize, queueTimeout, queueTimeoutStatus, 0);
  }

  /** Settings with status 429 for a full queue. */
  public AdmissionSettings(
      int maxConcurrentRequests,
      int queueSize,
      Duration queueTimeout,
      int queueTimeoutStatus,
      int ratePerSecond) {
    this(maxConcurrentRequests, queueSize, queueTimeout, queueTimeoutStatus, ratePerSecond, 429);
  }

  /** Settings with one queue for all models. */
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
        List.of(),
        Priority.NORMAL,
        HIGH_SHARE);
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
    if (!(highShare >= 0 && highShare <= 0.5)) {
      throw new IllegalArgumentException("highShare: " + highShare + " (expected: 0 to 0.5)");
    }
    if (ratePerSecond < 0) {
      throw new IllegalArgumentException("ratePerSecond: " + ratePerSecond + " (expected: >= 0)");
    }
  }

  /** Number of permits for requests of high priority alone. */
  int reserve() {
    int share = (int) Math.ceil(highShare * maxConcurrentRequests);
    return Math.min(share, maxConcurrentRequests - 1);
  }

  /** The settings of a model's own queue. */
  AdmissionSettings with(ModelLimit limit) {
    return new AdmissionSettings(
        limit.maxConcurrentRequests(),
        limit.queueSize(),
        queueTimeout,
        queueTimeoutStatus,
        0,
        limit.queueFullStatus(),
        List.of(),
        maxPriority,
        highShare);
  }

  /**
   * True if requests for {@code model} have a queue that answers 429 when it is full.
   *
   * @param model null if the request names none
   */
  public boolean answersTooMany(@Nullable String model) {
    ModelLimit own = ofModel(model);
    return own == null ? answersTooMany() : with(own).answersTooMany();
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

  private boolean answersTooMany() {
    return maxConcurrentRequests > 0 && queueFullStatus == TOO_MANY;
  }
}
