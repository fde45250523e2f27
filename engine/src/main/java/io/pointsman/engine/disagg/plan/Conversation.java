package io.pointsman.engine.disagg.plan;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * One turn of a conversation.
 *
 * @param session what its turns have in common, as the client names it
 * @param owner whose it is: the same session of another owner is another conversation
 * @param model the model asked for; null if none is named
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
