package io.pointsman.engine.policy.cost;

import org.jspecify.annotations.Nullable;

/**
 * How long engines of one kind take to compute prompts, learned from the times between first
 * tokens: weighted least squares with forgetting, drawn towards a prior so that it answers sensibly
 * from the first request on. One model for all workers of the kind: with one each, whoever looks
 * fast after a few samples attracts everything.
 *
 * <p>Changed under its own lock; {@link #millis} may be read by any thread.
 */
final class LatencyModel {
  static final Coefficients PRIOR = new Coefficients(20, 30, 150);
  private static final double FORGETTING = 0.999;

  /** Samples weigh by the inverse square of their time plus this, so that long ones do not rule. */
  private static final double NOISE_MILLIS = 30;

  /** How many samples the prior weighs as much as. */
  private static final double PRIOR_SAMPLES = 3;

  private final double stepTokens;

  /** Whose knowledge is used in place of one's own; null for one's own. */
  private final @Nullable LatencyModel teacher;

  private double s11;
  private double s12;
  private double s13;
  private double s22;
  private double s23;
  private double s33;
  private double r1;
  private double r2;
  private double r3;
  private double samples;
  private double weights;
  private volatile Coefficients present = PRIOR;

  /**
   * Milliseconds of a prefill as a function of its tokens {@code u} and of the share of KV memory
   * that decoding reads: {@code (base + decode * util) * (1 + u / step) + compute * u / step}.
   *
   * @param base of each step, whatever it computes
   * @param decode of each step when decoding reads all of the memory
   * @param compute of a step full of prompt tokens
   */
  record Coefficients(double base, double decode, double compute) {
    /** Milliseconds of so many full steps' prompt tokens, on a worker of usual speed. */
    double millis(double steps, double util) {
      return (base + decode * util) * (1 + steps) + compute * steps;
    }
  }

  /**
   * @param stepTokens prompt tokens of a full step
   */
  LatencyModel(int stepTokens) {
    this(stepTokens, null);
  }

  /**
   * @param teacher whose knowledge is used, in place of what this one would learn; null to learn
   */
  LatencyModel(int stepTokens, @Nullable LatencyModel teacher) {
    this.stepTokens = stepTokens;
    this.teacher = teacher;
  }

  /** Whether it learns from first tokens. */
  boolean learns() {
    return teacher == null;
  }

  /** What is known at present. */
  Coefficients present() {
    return teacher == null ? present : teacher.present;
  }

  /** Full steps that a prompt token is. */
  double stepsPerToken() {
    return 1 / stepTokens;
  }

  /** Predicted milliseconds for {@code tokens} on a worker of usual speed. */
  double millis(double tokens, double util) {
    return present().millis(tokens / stepTokens, util);
  }

  /** Learns that {@code tokens} took {@code millis} with {@code util} of the memory in decode. */
  synchronized void learn(double tokens, double util, double millis) {
    if (!learns()) {
      return;
    }
    double steps = tokens / stepTokens;
    double x1 = 1 + steps;
    double x2 = x1 * util;
    double weight = 1 / ((NOISE_MILLIS + millis) * (NOISE_MILLIS + millis));
    samples = FORGETTING * samples + 1;
    weights = FORGETTING * weights + weight;
    s11 = FORGETTING * s11 + weight * x1 * x1;
    s12 = FORGETTING * s12 + weight * x1 * x2;
    s13 = FORGETTING * s13 + weight * x1 * steps;
    s22 = FORGETTING * s22 + weight * x2 * x2;
    s23 = FORGETTING * s23 + weight * x2 * steps;
    s33 = FORGETTING * s33 + weight * steps * steps;
    r1 = FORGETTING * r1 + weight * x1 * millis;
    r2 = FORGETTING * r2 + weight * x2 * millis;
    r3 = FORGETTING * r3 + weight * steps * millis;
    present = solve();
  }

  /** Cramer's rule: the ridge keeps the determinant above zero. */
  private Coefficients solve() {
    double ridge = PRIOR_SAMPLES * weights / samples;
    double a = s11 + ridge;
    double b = s22 + ridge;
    double c = s33 + ridge;
    double y1 = r1 + ridge * PRIOR.base;
    double y2 = r2 + ridge * PRIOR.decode;
    double y3 = r3 + ridge * PRIOR.compute;
    double c11 = b * c - s23 * s23;
    double c12 = s13 * s23 - s12 * c;
    double c13 = s12 * s23 - s13 * b;
    double c22 = a * c - s13 * s13;
    double c23 = s12 * s13 - a * s23;
    double c33 = a * b - s12 * s12;
    double det = a * c11 + s12 * c12 + s13 * c13;
    return new Coefficients(
        Math.max(0.1, (c11 * y1 + c12 * y2 + c13 * y3) / det),
        Math.max(0, (c12 * y1 + c22 * y2 + c23 * y3) / det),
        Math.max(0.1, (c13 * y1 + c23 * y2 + c33 * y3) / det));
  }
}
