package io.pointsman.engine.fleet;

/**
 * Limits of the stalls of one worker.
 *
 * @param patience limits for the time without progress
 * @param excludes runs its argument, which marks the worker as stalled; or returns false. Called
 *     under the lock of the stall
 */
record StallLimits(StallSettings patience, Exclusions excludes) {
  /** Decides about the exclusion of the worker. */
  interface Exclusions {
    /**
     * Runs {@code mark}, or returns false.
     *
     * @param counts false if a refusal is not counted
     */
    boolean exclude(boolean counts, Runnable mark);
  }
}
