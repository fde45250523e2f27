package io.pointsman.engine.policy.cost.latency;

import org.jspecify.annotations.Nullable;

/**
 * Prefill times of the engines of one kind, learned from the intervals between first tokens. The
 * method is weighted least squares with forgetting and a prior, so the first predictions are
 * already plausible. All workers of the kind share one model: with one each, a worker that looks
 * fast after a few samples would attract all requests.
 *
 * <p>Changed under its own lock. Any thread may call {@link #millis}.
 */
public final class LatencyModel {
  /** Number of tokens of {@link Coefficients#compute}. */
  private static final double UNIT = 8192;

  public static final Coefficients PRIOR = new Coefficients(20, 30, 150);

  /** Lower bounds: no engine is faster. */
  private static final Coefficients LEAST = new Coefficients(0.1, 0, 0.1);

  private static final double FORGETTING = 0.999;

  /**
   * The weight of a sample is the inverse square of its time plus this, so long ones do not
   * dominate.
   */
  private static final double NOISE_MILLIS = 30;

  /** The prior weighs as much as this number of samples. */
  private static final double PRIOR_SAMPLES = 3;

  private final double stepTokens;

  /** The model to use instead of this one; null if this one learns. */
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
   * The time of a prefill of {@code u} tokens, while decoding reads the fraction {@code util} of
   * the KV memory: {@code (base + decode * util) * ceil(u / step) + compute * u / UNIT}
   * milliseconds.
   *
   * @param base time of each step
   * @param decode time of each step if decoding reads the whole memory
   * @param compute time of {@link #UNIT} prompt tokens
   */
  public record Coefficients(double base, double decode, double compute) {
    /**
     * Returns the time of {@code tokens} in {@code steps}, in milliseconds on a worker of usual
     * speed.
     */
    public double millis(double tokens, double steps, double util) {
      return (base + decode * util) * steps + compute * tokens / UNIT;
    }

    /** Returns the time of further tokens in an existing step, in milliseconds. */
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
   * @param teacher the model to use instead of this one; null to learn
   */
  LatencyModel(int stepTokens, @Nullable LatencyModel teacher) {
    this.stepTokens = stepTokens;
    this.teacher = teacher;
  }

  /** Copies the learned values of another model. */
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

  /** Returns true if this model learns from first tokens. */
  boolean learns() {
    return teacher == null;
  }

  /** Returns the current coefficients. */
  public Coefficients present() {
    return teacher == null ? present : teacher.present;
  }

  /** Returns the prompt tokens of a full step. */
  public double stepTokens() {
    return stepTokens;
  }

  /** Returns the number of steps for {@code tokens} alone; at least 1. */
  double steps(double tokens) {
    return steps(tokens, stepTokens);
  }

  /** Returns the number of steps of {@code stepTokens} for {@code tokens}; at least 1. */
  public static double steps(double tokens, double stepTokens) {
    return Math.max(1, Math.ceil(tokens / stepTokens - 1e-9));
  }

  /** Returns the predicted time of {@code tokens} in milliseconds on a worker of usual speed. */
  public double millis(double tokens, double util) {
    return present().millis(tokens, steps(tokens), util);
  }

  /**
   * Learns that {@code tokens} took {@code millis} while decoding used {@code util} of the memory.
   */
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
   * Solves the least squares with {@link #LEAST} as lower bounds. Each round fixes the coefficients
   * below their bound and solves for the others. Simple clamping is not enough: prompts of one
   * length do not separate the coefficients, and their predictions would be wrong.
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
   * Solves the normal equations with some coefficients fixed at their lower bound. The ridge term
   * keeps the pivots positive. Written out, because it runs for each first token.
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
