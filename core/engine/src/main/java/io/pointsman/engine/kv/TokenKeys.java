package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * Finds the token ids of text prompts as engines tokenise them. Called for each request by many
 * threads at once. Answers from memory, without a lock or a request to an engine.
 */
@FunctionalInterface
public interface TokenKeys {
  /** Finds no ids. */
  TokenKeys NONE = _ -> null;

  /**
   * Returns the prompt's routing key in blocks of token ids ({@link PrefixBlocks#tokenIds}), for
   * the beginning with known ids. Its {@code tokens} is the length of the whole prompt, estimated
   * if unknown.
   *
   * @param text the routing key of the text prompt
   * @return null if no ids are known
   */
  @Nullable PrefixBlocks of(PrefixBlocks text);

  /**
   * Returns a view for observers: lookups are not counted and do not extend the retention of
   * entries.
   */
  default TokenKeys unseen() {
    return this;
  }
}
