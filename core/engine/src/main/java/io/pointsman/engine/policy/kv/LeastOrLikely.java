package io.pointsman.engine.policy.kv;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;

/**
 * Selects one of a sequence of candidates. At temperature 0 it selects the lowest cost; ties are
 * broken by requests, then at random. Above 0 it selects at random, with a probability that falls
 * by a factor of e per {@code temperature} units of cost. For one pick.
 */
final class LeastOrLikely {
  /** Resolution of random draws. */
  private static final int FACES = 1 << 30;

  private final double temperature;
  private final RandomSource random;
  private int chosen = Pool.ABSENT;
  private double least = Double.POSITIVE_INFINITY;
  private int fewest;
  private int ties;
  private double weights;

  LeastOrLikely(double temperature, RandomSource random) {
    this.temperature = temperature;
    this.random = random;
  }

  /** The selected candidate; {@link Pool#ABSENT} if there was none. */
  int chosen() {
    return chosen;
  }

  void offer(int candidate, double cost, int requests) {
    if (temperature > 0 ? likely(cost) : least(cost, requests)) {
      chosen = candidate;
    }
  }

  private boolean least(double cost, int requests) {
    boolean better = cost < least || (cost == least && requests < fewest);
    boolean equal = cost == least && requests == fewest;
    if (better) {
      least = cost;
      fewest = requests;
      ties = 1;
    } else if (equal) {
      ties++;
    }
    return better || (equal && random.roll(ties) == 0);
  }

  /**
   * Weights are relative to the lowest cost so far. When it falls, the sum of the earlier weights
   * is scaled down.
   */
  private boolean likely(double cost) {
    if (cost < least) {
      weights *= weight(least - cost);
      least = cost;
    }
    double weight = weight(cost - least);
    weights += weight;
    return weight >= weights || random.roll(FACES) < weight / weights * FACES;
  }

  private double weight(double above) {
    return Math.exp(-above / temperature);
  }
}
