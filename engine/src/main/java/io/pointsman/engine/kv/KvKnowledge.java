package io.pointsman.engine.kv;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * What policies may ask of engines' caches.
 *
 * @param index what engines have announced
 * @param texts the token ids of prompts that came as text
 * @param tally what lookups came to
 */
public record KvKnowledge(KvIndex index, TokenKeys texts, KvTally tally) {
  private static final long LEAST_BYTES = 1 << 20;

  public KvKnowledge {
    requireNonNull(index, "index");
    requireNonNull(texts, "texts");
    requireNonNull(tally, "tally");
  }

  /** Whose lookups the index counts. */
  public KvKnowledge(KvIndex index, TokenKeys texts) {
    this(index, texts, index.tally());
  }

  /**
   * The same for one who only looks on: his lookups are not counted, and nothing is kept for longer
   * because of them.
   */
  public KvKnowledge unseen() {
    return new KvKnowledge(index, texts.unseen(), new KvTally());
  }

  /** Of engines that announce nothing. */
  public static KvKnowledge none(Ticker ticker) {
    return new KvKnowledge(new KvIndex(LEAST_BYTES, 1, ticker), TokenKeys.NONE);
  }

  /** A prompt in blocks of token ids, as far as they are known; null if they are not. */
  public @Nullable PrefixBlocks tokens(PrefixBlocks prompt) {
    return prompt.tokenIds() || prompt.count() == 0 ? prompt : texts.of(prompt);
  }
}
