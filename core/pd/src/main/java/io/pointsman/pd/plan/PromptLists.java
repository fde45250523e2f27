package io.pointsman.pd.plan;

/**
 * Rules for a list in the member {@code prompt}.
 *
 * @param together true if one hand-over serves all prompts of a list, because decode workers find
 *     blocks by content. Transfer parameters name the blocks of one prompt only.
 * @param sizedByLength true if the estimate of a list is its length, for texts and lists of token
 *     ids too
 */
public record PromptLists(boolean together, boolean sizedByLength) {
  public static final PromptLists DEFAULTS = new PromptLists(false, false);
}
