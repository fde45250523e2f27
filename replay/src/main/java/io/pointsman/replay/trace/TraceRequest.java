package io.pointsman.replay.trace;

/**
 * One request of a trace.
 *
 * @param at when it arrives, in milliseconds from the trace's beginning; for one that follows
 *     another, milliseconds after the end of that one
 * @param follows index of the request whose end it waits for, -1 for none; less than its own index
 * @param inputTokens length of the prompt, at least 1
 * @param outputTokens length of the answer, at least 1
 * @param blocks one hash for each {@link Trace#blockTokens} tokens of the prompt, the last one
 *     maybe shorter; a hash stands for everything before it too
 */
@SuppressWarnings("ArrayRecordComponent") // thousands of them, never changed
public record TraceRequest(
    double at, int follows, int inputTokens, int outputTokens, long[] blocks) {
  public TraceRequest {
    if (inputTokens < 1 || outputTokens < 1) {
      throw new IllegalArgumentException(
          "input_length, output_length: "
              + inputTokens
              + ", "
              + outputTokens
              + " (expected: at least 1)");
    }
  }
}
