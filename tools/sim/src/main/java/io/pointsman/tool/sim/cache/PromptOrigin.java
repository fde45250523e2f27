package io.pointsman.tool.sim.cache;

import org.jspecify.annotations.Nullable;

/**
 * The input from which a prompt's blocks were computed.
 *
 * @param tokens ids of the whole prompt; not copied, must not be changed
 * @param adapter name of its LoRA adapter; null: the base model
 * @param cacheSalt empty: none
 */
@SuppressWarnings("ArrayRecordComponent") // passed on, never compared
public record PromptOrigin(int[] tokens, @Nullable String adapter, String cacheSalt) {}
