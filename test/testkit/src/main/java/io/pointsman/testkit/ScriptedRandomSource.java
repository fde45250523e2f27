package io.pointsman.testkit;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;

/**
 * Random numbers: first the scripted ones, then those of a seeded generator. Used as {@code
 * source::roll}.
 */
public final class ScriptedRandomSource {
  private final Deque<Integer> script = new ArrayDeque<>();
  private final SplittableRandom random;

  private ScriptedRandomSource(long seed) {
    random = new SplittableRandom(seed);
  }

  public static ScriptedRandomSource seeded(long seed) {
    return new ScriptedRandomSource(seed);
  }

  /** A source with the given first results; each must be below the bound of its roll. */
  public static ScriptedRandomSource of(int... rolls) {
    ScriptedRandomSource source = new ScriptedRandomSource(1);
    for (int roll : rolls) {
      source.script.add(roll);
    }
    return source;
  }

  public synchronized int roll(int bound) {
    Integer scripted = script.poll();
    if (scripted == null) {
      return random.nextInt(bound);
    }
    if (scripted >= bound) {
      throw new AssertionError("scripted roll " + scripted + " is not below " + bound);
    }
    return scripted;
  }
}
