package io.pointsman.testkit;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;

/** Dice that fall as scripted, then as a seeded generator has it. Use it as {@code dice::roll}. */
public final class ScriptedDice {
  private final Deque<Integer> script = new ArrayDeque<>();
  private final SplittableRandom random;

  private ScriptedDice(long seed) {
    random = new SplittableRandom(seed);
  }

  public static ScriptedDice seeded(long seed) {
    return new ScriptedDice(seed);
  }

  /** Dice that show {@code rolls} first; each must lie below the bound of its roll. */
  public static ScriptedDice of(int... rolls) {
    ScriptedDice dice = new ScriptedDice(1);
    for (int roll : rolls) {
      dice.script.add(roll);
    }
    return dice;
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
