package io.pointsman.app.config.value;

import org.jspecify.annotations.Nullable;

/**
 * How many requests for one model run and wait.
 *
 * @param maxConcurrent most at once; at least 1
 * @param queueSize most that wait; null if as for all models
 * @param fullStatus the answer to those beyond; null if as for all models
 */
public record ModelQueue(
    String model, int maxConcurrent, @Nullable Integer queueSize, @Nullable Integer fullStatus) {}
