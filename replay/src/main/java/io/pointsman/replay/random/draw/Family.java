package io.pointsman.replay.random.draw;

import java.util.Locale;

/** What prompts of a workload share. */
public enum Family {
  /** Nothing. */
  INDEPENDENT,
  /** System prompts of several popularity. */
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
  /** Embeddings and classification: answers of 0 or 1 token. */
  POOLING,
  /** Lengths of three orders of magnitude. */
  SCALES,
  /** Two of the others in one fleet. */
  MIXTURE;

  /** Its name in tables. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
