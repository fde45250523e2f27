package io.pointsman.tool.replay.run;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.tool.replay.trace.TraceRequest;

/** Divides the blocks of a trace into an engine's blocks, or joins several to one. */
final class BlockCut {
  /** Default tokens per block of an engine, if the trace's blocks can be divided into it. */
  private static final int USUAL_TOKENS = 64;

  private final int traceTokens;
  private final int engineTokens;

  /**
   * @param asked tokens per block of an engine; 0 for the default
   */
  BlockCut(int traceTokens, int asked) {
    this.traceTokens = traceTokens;
    int usual = traceTokens % USUAL_TOKENS == 0 ? USUAL_TOKENS : traceTokens;
    engineTokens = asked == 0 ? usual : asked;
    if (traceTokens % engineTokens != 0 && engineTokens % traceTokens != 0) {
      throw new IllegalArgumentException(
          "block-size: %d (expected: a divisor or a multiple of the trace's %d)"
              .formatted(asked, traceTokens));
    }
  }

  /** Tokens per block of an engine. */
  int engineTokens() {
    return engineTokens;
  }

  /** Returns the hashes of the complete blocks of a prompt. */
  long[] blocks(TraceRequest request) {
    long[] blocks = request.blocks();
    int complete = request.inputTokens() / engineTokens;
    return engineTokens > traceTokens ? joined(blocks, complete) : divided(blocks, complete);
  }

  private long[] divided(long[] blocks, int complete) {
    int parts = traceTokens / engineTokens;
    long[] cut = new long[Math.min(blocks.length * parts, complete)];
    for (int i = 0; i < cut.length; i++) {
      cut[i] = parts == 1 ? blocks[i] : PrefixBlocks.mix(blocks[i / parts] + i % parts);
    }
    return cut;
  }

  /** A hash covers everything before it, so the last one of several covers all. */
  private long[] joined(long[] blocks, int complete) {
    int parts = engineTokens / traceTokens;
    long[] cut = new long[Math.min(blocks.length / parts, complete)];
    for (int i = 0; i < cut.length; i++) {
      cut[i] = blocks[(i + 1) * parts - 1];
    }
    return cut;
  }
}
