package io.pointsman.engine.fleet;

import java.util.function.Predicate;

/**
 * Limits of the stalls of one worker.
 *
 * @param patience limits for the time without progress
 * @param excludes runs its argument, which marks the worker as stalled; or returns false. Called
 *     under the lock of the stall
 */
record StallLimits(StallSettings patience, Predicate<Runnable> excludes) {}
