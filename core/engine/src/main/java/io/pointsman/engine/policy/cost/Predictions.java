package io.pointsman.engine.policy.cost;

/**
 * How well times to first token were predicted, in sums since the start. Any thread may add and
 * read.
 */
public final class Predictions {
  private long count;
  private double absoluteMillis;
  private double errorMillis;
  private double measuredMillis;

  /**
   * The sums at one moment, in milliseconds.
   *
   * @param count first tokens that had been predicted
   * @param absolute of the differences, without their signs
   * @param error of predicted less measured: above 0 when predictions are too late
   * @param measured of the times themselves
   */
  public record Sums(long count, double absolute, double error, double measured) {}

  synchronized void add(double predictedMillis, double measured) {
    count++;
    absoluteMillis += Math.abs(predictedMillis - measured);
    errorMillis += predictedMillis - measured;
    measuredMillis += measured;
  }

  /** What was added so far. */
  public synchronized Sums sums() {
    return new Sums(count, absoluteMillis, errorMillis, measuredMillis);
  }
}
