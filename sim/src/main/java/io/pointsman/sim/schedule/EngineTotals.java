package io.pointsman.sim.schedule;

/**
 * What an engine has done since it started or was last reset. Written by {@link Scheduler} only.
 */
public final class EngineTotals {
  long promptTokens;
  long cachedTokens;
  long generatedTokens;
  long finished;
  long aborted;
  int maxRunning;
  int maxWaiting;

  EngineTotals() {}

  /** Prompt tokens of admitted sequences: what the prefix cache was asked for. */
  public long promptTokens() {
    return promptTokens;
  }

  /** Of those, tokens found in the prefix cache. */
  public long cachedTokens() {
    return cachedTokens;
  }

  /** Tokens produced. */
  public long generatedTokens() {
    return generatedTokens;
  }

  /** Sequences completed. */
  public long finished() {
    return finished;
  }

  /** Sequences given up by their client. */
  public long aborted() {
    return aborted;
  }

  /** Most sequences in the batch at once. */
  public int maxRunning() {
    return maxRunning;
  }

  /** Most sequences waiting at once. */
  public int maxWaiting() {
    return maxWaiting;
  }

  void reset() {
    promptTokens = 0;
    cachedTokens = 0;
    generatedTokens = 0;
    finished = 0;
    aborted = 0;
    maxRunning = 0;
    maxWaiting = 0;
  }
}
