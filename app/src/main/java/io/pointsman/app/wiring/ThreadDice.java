package io.pointsman.app.wiring;

import io.pointsman.engine.env.Dice;
import java.util.concurrent.ThreadLocalRandom;

/** Dice of each thread's own, unseeded. */
public final class ThreadDice implements Dice {
  @Override
  public int roll(int bound) {
    return ThreadLocalRandom.current().nextInt(bound);
  }
}
