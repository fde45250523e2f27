package io.pointsman.tool.replay.trace;

/**
 * One request of a trace.
 *
 * @param at arrival in milliseconds from the beginning of the trace; for a dependent request,
 *     milliseconds after the end of its predecessor
 * @param follows index of the predecessor to wait for, less than its own index; -1 for none
 * @param inputTokens length of the prompt, at least 1
 * @param outputTokens length of the response; 0 without tokens, as for an embedding
 * @param blocks one hash for each {@link Trace#blockTokens} tokens of the prompt; the last block
 *     may be shorter. A hash covers everything before it.
 * @param patience milliseconds from arrival after which the client leaves; infinite if it stays
 */
@SuppressWarnings("ArrayRecordComponent") // thousands of them, never changed
public record TraceRequest(
    double at, int follows, int inputTokens, int outputTokens, long[] blocks, double patience) {
  /** A request of a client that stays. */
  public TraceRequest(double at, int follows, int inputTokens, int outputTokens, long[] blocks) {
    this(at, follows, inputTokens, outputTokens, blocks, Double.POSITIVE_INFINITY);
  }

  /** Returns a copy with another time. */
  public TraceRequest at(double newAt) {
    return new TraceRequest(newAt, follows, inputTokens, outputTokens, blocks, patience);
  }

  public TraceRequest {
    if (inputTokens < 1 || outputTokens < 0) {
      throw new IllegalArgumentException(
          "input_length, output_length: "
              + inputTokens
              + ", "
              + outputTokens
              + " (expected: at least 1, at least 0)");
    }
    if (!(patience > 0)) {
      throw new IllegalArgumentException("patience: " + patience + " (expected: above 0)");
    }
  }
}
