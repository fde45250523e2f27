package io.pointsman.engine.policy.cost.latency;

import org.jspecify.annotations.Nullable;

/**
 * How long engines of one kind take to compute prompts, learned from the times between first
 * tokens: weighted least squares with forgetting, drawn towards a prior so that it answers sensibly
 * from the first request on. One model for all workers of the kind: with one each, whoever looks
 * fast after a few samples attracts everything.
 *
 * <p>Changed under its own lock; {@link #millis} may be read by any thread.
 */
public final class LatencyModel {
  /** Tokens of which {@link Coefficients#compute} tells the time. */
  private static final double UNIT = 8192;

  public static final Coefficients PRIOR = new Coefficients(20, 30, 150);

  /** No engine is faster. */
  private static final Coefficients LEAST = new Coefficients(0.1, 0, 0.1);

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
   * Milliseconds of a prefill of {@code u} tokens, with the share {@code util} of KV memory that
   * decoding reads: {@code (base + decode * util) * ceil(u / step) + compute * u / UNIT}.
   *
   * @param base of each step, whatever it computes
   * @param decode of each step when decoding reads all of the memory
   * @param compute of {@link #UNIT} prompt tokens
   */
  public record Coefficients(double base, double decode, double compute) {
    /** Milliseconds of so many tokens in so many steps, on a worker of usual speed. */
    public double millis(double tokens, double steps, double util) {
      return (base + decode * util) * steps + compute * tokens / UNIT;
    }

    /** Milliseconds of further tokens in a step that is taken anyway. */
    public double more(double tokens) {
      return compute * tokens / UNIT;
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

  /** Goes on from what another one has learned, instead of from the prior. */
  synchronized void beginFrom(LatencyModel other) {
    synchronized (other) {
      s11 = other.s11;
      s12 = other.s12;
      s13 = other.s13;
      s22 = other.s22;
      s23 = other.s23;
      s33 = other.s33;
      r1 = other.r1;
      r2 = other.r2;
      r3 = other.r3;
      samples = other.samples;
      weights = other.weights;
      present = other.present;
    }
  }

  /** Whether it learns from first tokens. */
  boolean learns() {
    return teacher == null;
  }

  /** What is known at present. */
  public Coefficients present() {
    return teacher == null ? present : teacher.present;
  }

  /** Prompt tokens of a full step. */
  public double stepTokens() {
    return stepTokens;
  }

  /** Steps that so many tokens take, if they have the steps to themselves; at least 1. */
  double steps(double tokens) {
    return steps(tokens, stepTokens);
  }

  /** Steps of {@code stepTokens} that so many tokens take; at least 1. */
  public static double steps(double tokens, double stepTokens) {
    return Math.max(1, Math.ceil(tokens / stepTokens - 1e-9));
  }

  /** Predicted milliseconds for {@code tokens} on a worker of usual speed. */
  public double millis(double tokens, double util) {
    return present().millis(tokens, steps(tokens), util);
  }

  /** Learns that {@code tokens} took {@code millis} with {@code util} of the memory in decode. */
  public synchronized void learn(double tokens, double util, double millis) {
    if (!learns()) {
      return;
    }
    double units = tokens / UNIT;
    double x1 = steps(tokens);
    double x2 = x1 * util;
    double weight = 1 / ((NOISE_MILLIS + millis) * (NOISE_MILLIS + millis));
    samples = FORGETTING * samples + 1;
    weights = FORGETTING * weights + weight;
    s11 = FORGETTING * s11 + weight * x1 * x1;
    s12 = FORGETTING * s12 + weight * x1 * x2;
    s13 = FORGETTING * s13 + weight * x1 * units;
    s22 = FORGETTING * s22 + weight * x2 * x2;
    s23 = FORGETTING * s23 + weight * x2 * units;
    s33 = FORGETTING * s33 + weight * units * units;
    r1 = FORGETTING * r1 + weight * x1 * millis;
    r2 = FORGETTING * r2 + weight * x2 * millis;
    r3 = FORGETTING * r3 + weight * units * millis;
    present = solve();
  }

  /**
   * Least squares in which what would fall below its {@link #LEAST} is held there, one round after
   * the other, and the others make up for it. Clamped afterwards, prompts of one length alone,
   * which do not tell one coefficient from another, would be predicted as never seen.
   */
  private Coefficients solve() {
    Coefficients best = solve(false, false, false);
    boolean base = false;
    boolean decode = false;
    boolean compute = false;
    while (best.base < LEAST.base || best.decode < LEAST.decode || best.compute < LEAST.compute) {
      base |= best.base < LEAST.base;
      decode |= best.decode < LEAST.decode;
      compute |= best.compute < LEAST.compute;
      best = solve(base, decode, compute);
    }
    return best;
  }

  /**
   * Solves the normal equations with some coefficients held at their least: the ridge keeps pivots
   * above 0. Written out, because it follows each first token.
   */
  private Coefficients solve(boolean base, boolean decode, boolean compute) {
    double ridge = PRIOR_SAMPLES * weights / samples;
    double a11 = base ? 1 : s11 + ridge;
    double a12 = base ? 0 : s12;
    double a13 = base ? 0 : s13;
    double b1 = base ? LEAST.base : r1 + ridge * PRIOR.base;
    double a21 = decode ? 0 : s12;
    double a22 = decode ? 1 : s22 + ridge;
    double a23 = decode ? 0 : s23;
    double b2 = decode ? LEAST.decode : r2 + ridge * PRIOR.decode;
    double a31 = compute ? 0 : s13;
    double a32 = compute ? 0 : s23;
    double a33 = compute ? 1 : s33 + ridge;
    double b3 = compute ? LEAST.compute : r3 + ridge * PRIOR.compute;

    double second = a21 / a11;
    a22 -= second * a12;
    a23 -= second * a13;
    b2 -= second * b1;
    double third = a31 / a11;
    a32 -= third * a12;
    a33 -= third * a13;
    b3 -= third * b1;
    double last = a32 / a22;
    a33 -= last * a23;
    b3 -= last * b2;

    double x3 = b3 / a33;
    double x2 = (b2 - a23 * x3) / a22;
    return new Coefficients((b1 - a12 * x2 - a13 * x3) / a11, x2, x3);
  }
}
