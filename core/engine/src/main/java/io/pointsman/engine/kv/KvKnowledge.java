package io.pointsman.engine.kv;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The knowledge of engines' caches that policies can query.
 *
 * @param index the index of KV events
 * @param texts token ids of text prompts
 * @param tally counters of lookup results
 */
public record KvKnowledge(KvIndex index, TokenKeys texts, KvTally tally) {
  /** Maximum expected delay of KV events. */
  public static final long LATE_NANOS = TimeUnit.SECONDS.toNanos(15);

  private static final long LEAST_BYTES = 1 << 20;

  /** Minimum number of unannounced cached tokens that indicates missing events. */
  private static final int WORTH_TOKENS = 256;

  /** Credits that count blocks on every tier fully. */
  private static final KvCredits EVERY_TIER = new KvCredits(1, 1, 1);

  public KvKnowledge {
    requireNonNull(index, "index");
    requireNonNull(texts, "texts");
    requireNonNull(tally, "tally");
  }

  /** Counts lookups in the index's own counters. */
  public KvKnowledge(KvIndex index, TokenKeys texts) {
    this(index, texts, index.tally());
  }

  /** Returns a view for observers: it does not count lookups or extend the retention of entries. */
  public KvKnowledge unseen() {
    return new KvKnowledge(index, texts.unseen(), new KvTally());
  }

  /** Knowledge without any KV events. */
  public static KvKnowledge none(Ticker ticker) {
    return new KvKnowledge(new KvIndex(LEAST_BYTES, 1, ticker), TokenKeys.NONE);
  }

  /**
   * Records the cached tokens that an engine reported for a prompt. If far more were cached than
   * announced, events are missing. Placements on the worker within the next {@link #LATE_NANOS} may
   * then be cached without an event.
   *
   * @param workerSlot the worker's slot
   * @param found cached tokens, without tokens placed less than {@link #LATE_NANOS} earlier
   */
  public void found(
      PrefixBlocks prompt, @Nullable String model, int workerSlot, int found, long now) {
    PrefixBlocks tokens = found < WORTH_TOKENS ? null : tokens(prompt, model);
    if (tokens != null) {
      double known = index.hits(tokens, model).credit(workerSlot, EVERY_TIER);
      if (Math.min(found, tokens.length()) - known >= WORTH_TOKENS) {
        index.doubted(workerSlot, now + LATE_NANOS);
      }
    }
  }

  /**
   * Converts a prompt to blocks of token ids for a lookup of holders.
   *
   * @param model the requested model, which may be an adapter
   * @return null if the ids are unknown, or if events cannot identify the holders
   */
  public @Nullable PrefixBlocks tokens(PrefixBlocks prompt, @Nullable String model) {
    return model == null || index.distinguishes(model) ? tokens(prompt) : null;
  }

  /** Converts a prompt to blocks of token ids, as far as known; null if unknown. */
  public @Nullable PrefixBlocks tokens(PrefixBlocks prompt) {
    return prompt.tokenIds() || prompt.count() == 0 ? prompt : texts.of(prompt);
  }
}
