package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * Finds the token ids of prompts that came as text, as engines would count them. Asked for each
 * request by many threads at once: answers from memory, takes no lock, asks no engine.
 */
@FunctionalInterface
public interface TokenKeys {
  /** Knows no text's ids. */
  TokenKeys NONE = _ -> null;

  /**
   * The routing key of a prompt in blocks of token ids ({@link PrefixBlocks#tokenIds}), as far as
   * its ids are known from its beginning on; its {@code tokens} is the length of the whole prompt,
   * estimated where it is not known.
   *
   * @param text the routing key of the prompt as it came
   * @return null if nothing is known
   */
  @Nullable PrefixBlocks of(PrefixBlocks text);

  /** The same ids for one who only looks on: nothing is counted, or kept for longer. */
  default TokenKeys unseen() {
    return this;
  }
}
