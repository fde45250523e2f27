package io.pointsman.tool.sim.schedule;

/**
 * Step times of a model on one or several accelerators, from compute and memory bandwidth. A step
 * has {@code t} prompt tokens, {@code c} context tokens in decode and {@code n} decoding sequences.
 * It takes {@code square t^2 + token t + prefill} if there is a prompt, plus {@code decode +
 * context c + sequence n}. The parameter names contain the units.
 *
 * @param squareNanos attention among the prompt tokens
 * @param tokenMicros all other work for a prompt token
 * @param prefillMillis fixed time of a step with a prompt, beyond {@code decodeMillis}
 * @param decodeMillis fixed time of every step: reading the weights, launches, communication
 * @param contextNanos reading the KV of one context token
 * @param sequenceMicros work for each decoding sequence
 */
public record CardLatency(
    double squareNanos,
    double tokenMicros,
    double prefillMillis,
    double decodeMillis,
    double contextNanos,
    double sequenceMicros)
    implements SimLatencyModel {
  /** Rejects negative values. */
  public CardLatency {
    double[] figures = {
      squareNanos, tokenMicros, prefillMillis, decodeMillis, contextNanos, sequenceMicros
    };
    for (double figure : figures) {
      if (!(figure >= 0)) {
        throw new IllegalArgumentException("latency: " + figure + " (expected: 0 or more)");
      }
    }
  }

  @Override
  public long stepNanos(Step step) {
    double tokens = step.prefillTokens();
    double prefill =
        tokens == 0
            ? 0
            : squareNanos * tokens * tokens + tokenMicros * 1e3 * tokens + prefillMillis * 1e6;
    double decode =
        decodeMillis * 1e6
            + contextNanos * step.contextTokens()
            + sequenceMicros * 1e3 * step.decoding();
    return Math.round(prefill + decode);
  }
}
