package io.pointsman.proxy.quota;

import java.time.Duration;

/**
 * An amount that is used up and returns at a constant rate. Its level can fall below zero, because
 * the amount of an answer is known only at its end. Guarded by its owner.
 */
final class TokenBucket {
  private final int most;
  private final double perNano;
  private double level;
  private long filledAt;

  /** A full bucket that fills in {@code period}. */
  TokenBucket(int most, Duration period, long now) {
    this.most = most;
    perNano = most / (double) period.toNanos();
    level = most;
    filledAt = now;
  }

  int most() {
    return most;
  }

  /** Brings the level up to date. */
  void fill(long now) {
    level = Math.min(most, level + (double) Math.max(0, now - filledAt) * perNano);
    filledAt = now;
  }

  /** Takes over the level of a bucket of another size. */
  void follow(TokenBucket former) {
    level = Math.min(most, former.level);
  }

  /** Takes an amount; a negative one is given back. */
  void take(double amount) {
    level = Math.min(most, level - amount);
  }

  /**
   * Time until an amount is there, in nanoseconds; 0 if it is. More than the bucket can hold needs
   * a full one.
   */
  long nanosTo(double amount) {
    double lacks = Math.min(amount, most) - level;
    return lacks <= 0 ? 0 : (long) Math.ceil(lacks / perNano);
  }

  /** Time until the bucket is full, in nanoseconds. */
  long nanosToFull() {
    return nanosTo(most);
  }

  long remaining() {
    return (long) Math.max(0, Math.floor(level));
  }

  /** The level as a share of the size. */
  double share() {
    return level / most;
  }
}
