package io.pointsman.control.env;

import io.pointsman.engine.env.Dice;
import java.util.concurrent.ThreadLocalRandom;

/** Random numbers from each thread's own unseeded generator. */
public final class ThreadDice implements Dice {
  @Override
  public int roll(int bound) {
    return ThreadLocalRandom.current().nextInt(bound);
  }
}
