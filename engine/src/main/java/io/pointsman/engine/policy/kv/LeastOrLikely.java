package io.pointsman.engine.policy.kv;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Pool;

/**
 * Takes candidates one after the other and keeps one: that of least cost, of equals the one with
 * the fewest requests, of equals by chance; or, at a temperature above 0, one by a chance that
 * falls by e for each so many units of cost. For one pick.
 */
final class LeastOrLikely {
  /** Resolution of a chance. */
  private static final int FACES = 1 << 30;

  private final double temperature;
  private final Dice dice;
  private int chosen = Pool.ABSENT;
  private double least = Double.POSITIVE_INFINITY;
  private int fewest;
  private int ties;
  private double weights;

  LeastOrLikely(double temperature, Dice dice) {
    this.temperature = temperature;
    this.dice = dice;
  }

  /** Whom it keeps; {@link Pool#ABSENT} if there was nobody. */
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
    return better || (equal && dice.roll(ties) == 0);
  }

  /** Weights are told by the least cost so far: when it falls, the sum of those before does too. */
  private boolean likely(double cost) {
    if (cost < least) {
      weights *= weight(least - cost);
      least = cost;
    }
    double weight = weight(cost - least);
    weights += weight;
    return weight >= weights || dice.roll(FACES) < weight / weights * FACES;
  }

  private double weight(double above) {
    return Math.exp(-above / temperature);
  }
}
