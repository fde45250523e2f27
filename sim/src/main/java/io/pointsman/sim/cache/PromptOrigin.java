package io.pointsman.sim.cache;

import org.jspecify.annotations.Nullable;

/**
 * What blocks of a prompt were computed from.
 *
 * @param tokens ids of the whole prompt; not copied, not to be changed
 * @param adapter name of its LoRA adapter; null: the base model
 * @param cacheSalt empty: none
 */
@SuppressWarnings("ArrayRecordComponent") // handed over, never compared
public record PromptOrigin(int[] tokens, @Nullable String adapter, String cacheSalt) {}
