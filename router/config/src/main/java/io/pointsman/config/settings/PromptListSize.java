package io.pointsman.config.settings;

/** Estimated size of a list of prompts. */
public enum PromptListSize {
  /** Size of all elements. */
  CONTENT,
  /** Number of elements. */
  LENGTH
}
