package io.pointsman.replay.trace;

/**
 * One request of a trace.
 *
 * @param at when it arrives, in milliseconds from the trace's beginning; for one that follows
 *     another, milliseconds after the end of that one
 * @param follows index of the request whose end it waits for, -1 for none; less than its own index
 * @param inputTokens length of the prompt, at least 1
 * @param outputTokens length of the answer; 0 for one without tokens, as of an embedding
 * @param blocks one hash for each {@link Trace#blockTokens} tokens of the prompt, the last one
 *     maybe shorter; a hash stands for everything before it too
 * @param patience milliseconds from its arrival after which its client leaves; infinite if it stays
 */
@SuppressWarnings("ArrayRecordComponent") // thousands of them, never changed
public record TraceRequest(
    double at, int follows, int inputTokens, int outputTokens, long[] blocks, double patience) {
  /** One whose client stays. */
  public TraceRequest(double at, int follows, int inputTokens, int outputTokens, long[] blocks) {
    this(at, follows, inputTokens, outputTokens, blocks, Double.POSITIVE_INFINITY);
  }

  /** The same at another time. */
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
