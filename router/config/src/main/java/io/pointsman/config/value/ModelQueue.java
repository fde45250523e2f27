package io.pointsman.config.value;

import org.jspecify.annotations.Nullable;

/**
 * Limits on running and waiting requests of one model.
 *
 * @param maxConcurrent maximum number of running requests; at least 1
 * @param queueSize maximum number of waiting requests; null: the value for all models
 * @param fullStatus HTTP status for further requests; null: the value for all models
 */
public record ModelQueue(
    String model, int maxConcurrent, @Nullable Integer queueSize, @Nullable Integer fullStatus) {}
