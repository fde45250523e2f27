package io.pointsman.pd.execution.answer;

import io.pointsman.pd.body.CachedTokens;
import io.pointsman.pd.body.ChatText;
import io.pointsman.pd.body.FirstText;
import io.pointsman.pd.body.ReplyReader;
import io.pointsman.pd.body.SplitFactsReader;
import io.pointsman.pd.execution.StageSettings;
import io.pointsman.pd.plan.PromptLists;
import io.pointsman.request.TurnReader;
import io.pointsman.request.splice.BodyEditor;

/** Readers, editors and buffers of one event loop, with their scratch memory. */
public record SplitTools(
    SplitFactsReader facts,
    BodyEditor editor,
    ReplyReader replies,
    CachedTokens cached,
    FirstText firstText,
    ChatText chatText,
    TurnReader turns,
    BufferedBodies bodies) {
  /** Maximum size in bytes of the bodies that are kept to free blocks, per event loop. */
  private static final long MOST_RESERVED_BYTES = 64L << 20;

  /**
   * @param maxReplyBytes as in {@link StageSettings}
   * @param lists rules for lists of prompts
   */
  public SplitTools(int maxReplyBytes, PromptLists lists) {
    this(
        new SplitFactsReader(lists),
        new BodyEditor(),
        new ReplyReader(maxReplyBytes),
        new CachedTokens(),
        new FirstText(),
        new ChatText(),
        new TurnReader(),
        new BufferedBodies(MOST_RESERVED_BYTES));
  }

  /** Copy with readers for other limits. Both count the same buffered bodies. */
  public SplitTools with(int maxReplyBytes, PromptLists lists) {
    return new SplitTools(
        new SplitFactsReader(lists),
        editor,
        new ReplyReader(maxReplyBytes),
        cached,
        firstText,
        chatText,
        turns,
        bodies);
  }
}
