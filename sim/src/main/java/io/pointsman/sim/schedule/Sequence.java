package io.pointsman.sim.schedule;

import io.pointsman.sim.cache.BlockCache.Reservation;
import io.pointsman.sim.cache.PromptOrigin;
import org.jspecify.annotations.Nullable;

/**
 * One prompt on its way through the engine, and the tokens produced for it so far. Mutated by
 * {@link Scheduler} only; times are nanoseconds of engine time, -1 until they happen.
 */
public final class Sequence {
  /** Where a sequence stands. */
  public enum Phase {
    /** Not yet admitted to the batch. */
    QUEUED,
    /** In the batch, prompt not yet computed. */
    PREFILLING,
    /** In the batch, at least the first token produced. */
    DECODING,
    /** Complete. */
    FINISHED,
    /** Given up by its client. */
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

  /** Parts of a token that steps have gained it beyond whole ones. */
  double credit;

  long arrivedAt = -1;
  long admittedAt = -1;
  long firstTokenAt = -1;
  long finishedAt = -1;

  /**
   * A sequence to be handed to {@link Scheduler#submit}.
   *
   * @param blockHashes of the complete blocks of the prompt
   * @param promptTokens at least 1
   * @param outputTokens tokens to produce; 0: prefill only, as for embeddings
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
   * The KV of the prompt's first tokens has come from elsewhere: they need no computation. The last
   * one does, as an engine needs its logits. Called before it is submitted.
   */
  public void load(int tokens) {
    loadedTokens = Math.min(tokens, promptTokens - 1);
  }

  /** Says what its blocks are computed from. Called before it is submitted. */
  public void of(PromptOrigin newOrigin) {
    origin = newOrigin;
  }

  /** Its memory outlives it when it finishes, until {@link Scheduler#free}. */
  public void keepMemory() {
    keepsMemory = true;
  }

  /** Length of the prompt in tokens. */
  public int promptTokens() {
    return promptTokens;
  }

  /** Tokens that will have been produced at the end. */
  public int outputTokens() {
    return outputTokens;
  }

  /** Prompt and output together. */
  public long totalTokens() {
    return (long) promptTokens + outputTokens;
  }

  /** Where it stands. */
  public Phase phase() {
    return phase;
  }

  /** Prompt tokens that needed no computation; known from admission on. */
  public int cachedTokens() {
    return cachedTokens;
  }

  /** Prompt tokens that neither a step that has ended nor the running one computes. */
  public int uncomputedTokens() {
    return promptTokens - computedTokens - chunk;
  }

  /** Tokens produced so far. */
  public int produced() {
    return produced;
  }

  /** When it was submitted. */
  public long arrivedAt() {
    return arrivedAt;
  }

  /** When it entered the batch. */
  public long admittedAt() {
    return admittedAt;
  }

  /** When its first token was produced. */
  public long firstTokenAt() {
    return firstTokenAt;
  }

  /** When it was complete. */
  public long finishedAt() {
    return finishedAt;
  }

  /** Whether it has left the engine. */
  public boolean ended() {
    return phase == Phase.FINISHED || phase == Phase.ABORTED;
  }
}
