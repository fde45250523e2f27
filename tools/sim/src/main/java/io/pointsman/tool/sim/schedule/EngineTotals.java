package io.pointsman.tool.sim.schedule;

/** Totals of an engine since its start or the last reset. Written by {@link Scheduler} only. */
public final class EngineTotals {
  long promptTokens;
  long cachedTokens;
  long generatedTokens;
  long finished;
  long aborted;
  int maxRunning;
  int maxWaiting;

  EngineTotals() {}

  /** Prompt tokens of admitted sequences, which are the queries of the prefix cache. */
  public long promptTokens() {
    return promptTokens;
  }

  /** Of those, tokens found in the prefix cache. */
  public long cachedTokens() {
    return cachedTokens;
  }

  /** Tokens generated. */
  public long generatedTokens() {
    return generatedTokens;
  }

  /** Sequences completed. */
  public long finished() {
    return finished;
  }

  /** Sequences aborted by their client. */
  public long aborted() {
    return aborted;
  }

  /** Maximum number of sequences in the batch at once. */
  public int maxRunning() {
    return maxRunning;
  }

  /** Maximum number of sequences waiting at once. */
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
