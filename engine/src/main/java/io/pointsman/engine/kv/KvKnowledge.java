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
 */
public record KvKnowledge(KvIndex index, TokenKeys texts) {
  private static final long LEAST_BYTES = 1 << 20;

  public KvKnowledge {
    requireNonNull(index, "index");
    requireNonNull(texts, "texts");
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
