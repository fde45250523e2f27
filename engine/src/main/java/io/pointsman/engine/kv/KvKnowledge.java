package io.pointsman.engine.kv;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What policies may ask of engines' caches.
 *
 * @param index what engines have announced
 * @param texts the token ids of prompts that came as text
 * @param tally what lookups came to
 */
public record KvKnowledge(KvIndex index, TokenKeys texts, KvTally tally) {
  /** Announcements may come so late. */
  public static final long LATE_NANOS = TimeUnit.SECONDS.toNanos(15);

  private static final long LEAST_BYTES = 1 << 20;

  /** Less than this, found beyond what was announced, says nothing. */
  private static final int WORTH_TOKENS = 256;

  /** For what is found, wherever it was. */
  private static final KvCredits EVERY_TIER = new KvCredits(1, 1, 1);

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

  /**
   * Takes note of what an engine has found of a prompt. If it should have announced that long ago,
   * and has not as far as was heard, announcements are missing: then what is placed on the worker
   * until those of now would be here may be held without being known.
   *
   * @param workerSlot the worker's
   * @param found tokens found, without those that were brought less than {@link #LATE_NANOS} before
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
   * A prompt in blocks of token ids, for looking up who holds them.
   *
   * @param model the model asked for: it may be an adapter's name
   * @return null if they are not known, or if announcements cannot tell who holds them
   */
  public @Nullable PrefixBlocks tokens(PrefixBlocks prompt, @Nullable String model) {
    return model == null || index.tells(model) ? tokens(prompt) : null;
  }

  /** A prompt in blocks of token ids, as far as they are known; null if they are not. */
  public @Nullable PrefixBlocks tokens(PrefixBlocks prompt) {
    return prompt.tokenIds() || prompt.count() == 0 ? prompt : texts.of(prompt);
  }
}
