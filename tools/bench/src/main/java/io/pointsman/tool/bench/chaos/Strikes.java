package io.pointsman.tool.bench.chaos;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Plan of the faults: which fault affects which engine, and when. One fault per second; the same
 * seed gives the same plan. At every moment at least one engine is healthy: its last fault ended at
 * least {@link #RECOVERY_MILLIS} ago.
 */
final class Strikes {
  /** Time after the end of a fault until the engine counts as healthy again, in milliseconds. */
  static final int RECOVERY_MILLIS = 4000;

  private static final ChaosFault[] FAULTS = ChaosFault.values();

  /**
   * One fault.
   *
   * @param atMillis start in milliseconds since the start of the run
   * @param engine index of the engine
   * @param lastsMillis duration in milliseconds
   */
  record Strike(int atMillis, int engine, ChaosFault fault, int lastsMillis) {
    int endMillis() {
      return atMillis + lastsMillis;
    }
  }

  private Strikes() {}

  /**
   * The faults of a run, in order of time. A second without a suitable engine has no fault.
   *
   * @param engines number of engines; at least 2
   */
  static List<Strike> plan(long seed, int engines, int seconds) {
    if (engines < 2) {
      throw new IllegalArgumentException("engines: " + engines + " (expected: at least 2)");
    }
    SplittableRandom random = new SplittableRandom(seed);
    int[] freeAt = new int[engines];
    int[] soundAt = new int[engines];
    List<Strike> strikes = new ArrayList<>();
    for (int second = 0; second < seconds; second++) {
      int at = second * 1000 + random.nextInt(500);
      ChaosFault fault = FAULTS[random.nextInt(FAULTS.length)];
      int lasts = random.nextInt(fault.leastMillis(), fault.mostMillis() + 1);
      int[] able = able(at, freeAt, soundAt);
      int pick = random.nextInt(Integer.MAX_VALUE);
      if (able.length == 0) {
        continue;
      }
      Strike strike = new Strike(at, able[pick % able.length], fault, lasts);
      strikes.add(strike);
      freeAt[strike.engine()] = strike.endMillis();
      soundAt[strike.engine()] = strike.endMillis() + RECOVERY_MILLIS;
    }
    return strikes;
  }

  /** Engines without a fault, except the last healthy one. */
  private static int[] able(int at, int[] freeAt, int[] soundAt) {
    int[] sound = IntStream.range(0, soundAt.length).filter(i -> soundAt[i] <= at).toArray();
    return IntStream.range(0, freeAt.length)
        .filter(i -> freeAt[i] <= at && (sound.length != 1 || sound[0] != i))
        .toArray();
  }
}
