package io.pointsman.tool.replay.random.draw;

import java.util.Locale;

/** The common text of a workload's prompts. */
public enum Family {
  /** No common text. */
  INDEPENDENT,
  /** System prompts of different popularity. */
  SYSTEM,
  /** Conversations, turn by turn. */
  TURNS,
  /** Agents that call tools: many turns with short pauses. */
  TOOLS,
  /** Questions about documents. */
  DOCUMENTS,
  /** Groups of equal prompts at nearly the same time. */
  SIBLINGS,
  /** Paths from the root of a tree. */
  TREE,
  /** Embeddings and classification: responses of 0 or 1 token. */
  POOLING,
  /** Lengths of three orders of magnitude. */
  SCALES,
  /** Two of the others in one fleet. */
  MIXTURE;

  /** The name in tables. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
