package io.pointsman.tool.sim.schedule;

/**
 * Step times fitted to an 80 GB accelerator with a model of 8 billion parameters. They are
 * quadratic in the prompt tokens of the step, and in the share of KV memory that the decoding
 * sequences attend to.
 */
public record StepLatency() implements SimLatencyModel {
  @Override
  public long stepNanos(Step step) {
    double tokens = step.prefillTokens();
    double prefill = tokens == 0 ? 0 : 4.21e-7 * tokens * tokens + 0.01518 * tokens + 16.5;
    double use = Math.min(step.contextTokens() / (double) step.capacityTokens(), 1);
    double decode = 5.74 + 54.01 * use - 25.74 * use * use;
    return Math.round((prefill + decode) * 1e6);
  }
}
