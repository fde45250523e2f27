package io.pointsman.control.env;

import io.pointsman.engine.env.RandomSource;
import java.security.SecureRandom;

/** Random numbers that nobody can predict, for secrets. */
public final class SecureRandomSource implements RandomSource {
  private final SecureRandom random = new SecureRandom();

  @Override
  public int roll(int bound) {
    return random.nextInt(bound);
  }
}
