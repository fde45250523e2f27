package io.pointsman.control.env;

import io.pointsman.engine.env.RandomSource;
import java.util.concurrent.ThreadLocalRandom;

/** Random numbers from each thread's own unseeded generator. */
public final class ThreadRandomSource implements RandomSource {
  @Override
  public int roll(int bound) {
    return ThreadLocalRandom.current().nextInt(bound);
  }
}
