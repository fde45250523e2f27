package io.pointsman.pd.plan;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * One turn of a conversation.
 *
 * @param session the client's name for the conversation
 * @param owner the owner; equal sessions of different owners are different conversations
 * @param model the requested model; null if none is named
 * @param prompt the routing key of this turn's prompt
 */
public record Conversation(
    String session, String owner, @Nullable String model, PrefixBlocks prompt) {
  public Conversation {
    requireNonNull(session, "session");
    requireNonNull(owner, "owner");
    requireNonNull(prompt, "prompt");
  }
}
