package io.pointsman.tool.sim.schedule;

import io.pointsman.tool.sim.cache.BlockCache.Reservation;
import io.pointsman.tool.sim.cache.PromptOrigin;
import org.jspecify.annotations.Nullable;

/**
 * One prompt in the engine, and the tokens generated for it so far. Changed by {@link Scheduler}
 * only. Times are nanoseconds of engine time, -1 before the event.
 */
public final class Sequence {
  /** The phase of a sequence. */
  public enum Phase {
    /** Not admitted to the batch yet. */
    QUEUED,
    /** In the batch, prompt not computed yet. */
    PREFILLING,
    /** In the batch, at least the first token generated. */
    DECODING,
    /** Complete. */
    FINISHED,
    /** Aborted by its client. */
    ABORTED
  }

  /**
   * Called for every step that adds tokens, and at the end, on the thread that advances the
   * scheduler.
   */
  @FunctionalInterface
  public interface Listener {
    /** The sequence has further tokens or is finished. */
    void progressed(Sequence sequence);
  }

  final long[] blockHashes;
  final Listener listener;
  private final int promptTokens;
  private final int outputTokens;
  Phase phase = Phase.QUEUED;
  @Nullable Reservation reservation;
  @Nullable PromptOrigin origin;
  boolean keepsMemory;
  int loadedTokens;
  int cachedTokens;
  int computedTokens;
  int chunk;
  int produced;

  /** Fraction of a token that steps have added beyond whole ones. */
  double credit;

  long arrivedAt = -1;
  long admittedAt = -1;
  long firstTokenAt = -1;
  long finishedAt = -1;

  /**
   * Creates a sequence for {@link Scheduler#submit}.
   *
   * @param blockHashes hashes of the complete blocks of the prompt
   * @param promptTokens at least 1
   * @param outputTokens tokens to generate; 0: prefill only, as for embeddings
   */
  public Sequence(long[] blockHashes, int promptTokens, int outputTokens, Listener listener) {
    if (promptTokens < 1 || outputTokens < 0) {
      throw new IllegalArgumentException(
          "prompt, output tokens: "
              + promptTokens
              + ", "
              + outputTokens
              + " (expected: at least 1, at least 0)");
    }
    this.blockHashes = blockHashes;
    this.promptTokens = promptTokens;
    this.outputTokens = outputTokens;
    this.listener = listener;
  }

  /**
   * Marks the KV of the prompt's first tokens as loaded, so they need no computation. The last
   * token always needs it, because an engine needs its logits. To be called before submission.
   */
  public void load(int tokens) {
    loadedTokens = Math.min(tokens, promptTokens - 1);
  }

  /** Sets the origin of its blocks. To be called before submission. */
  public void of(PromptOrigin newOrigin) {
    origin = newOrigin;
  }

  /** Keeps its memory after it finishes, until {@link Scheduler#free}. */
  public void keepMemory() {
    keepsMemory = true;
  }

  /** Length of the prompt in tokens. */
  public int promptTokens() {
    return promptTokens;
  }

  /** Number of tokens to generate. */
  public int outputTokens() {
    return outputTokens;
  }

  /** Prompt and output together. */
  public long totalTokens() {
    return (long) promptTokens + outputTokens;
  }

  public Phase phase() {
    return phase;
  }

  /** Prompt tokens that needed no computation; known after admission. */
  public int cachedTokens() {
    return cachedTokens;
  }

  /** Prompt tokens that neither a finished step nor the running one computes. */
  public int uncomputedTokens() {
    return promptTokens - computedTokens - chunk;
  }

  /** Tokens generated so far. */
  public int produced() {
    return produced;
  }

  /** Time of submission. */
  public long arrivedAt() {
    return arrivedAt;
  }

  /** Time of admission to the batch. */
  public long admittedAt() {
    return admittedAt;
  }

  /** Time of the first token. */
  public long firstTokenAt() {
    return firstTokenAt;
  }

  /** Time of completion. */
  public long finishedAt() {
    return finishedAt;
  }

  /** Returns true if it has left the engine. */
  public boolean ended() {
    return phase == Phase.FINISHED || phase == Phase.ABORTED;
  }
}
