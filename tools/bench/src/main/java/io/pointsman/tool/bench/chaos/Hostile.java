package io.pointsman.tool.bench.chaos;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Faults of meaning for a whole run: some requests end the engine that gets them, one engine takes
 * requests and never answers, the probes of one fail every other time, one is cut off for a third
 * of the run, and some clients leave early. Engines that died start again. Used by one thread.
 */
final class Hostile {
  /** Index of the engine that answers probes only. */
  static final int HUNG = 0;

  /** Index of the engine with probes that fail and succeed in turn. */
  static final int FLAPPING = 1;

  /** Index of the engine that is cut off for a third of the run. */
  static final int CUT_OFF = 2;

  /** Smallest number of engines: the last one has no fault but deaths. */
  static final int LEAST_ENGINES = 4;

  /** One request of this number ends its engine. */
  static final int POISON_EVERY = 500;

  /** Number of different poisons; the next ones begin anew. */
  static final int POISONS = 200;

  /** One client of this number leaves early. */
  private static final int LEAVES_EVERY = 10;

  private static final int LEAST_PATIENCE_MILLIS = 20;
  private static final int MOST_PATIENCE_MILLIS = 400;

  /**
   * Engines that were lost to poisons.
   *
   * @param sent number of requests with a poison
   * @param engines number of times that an engine died
   * @param most largest number of engines that were lost to one request
   */
  record Losses(int sent, int engines, int most) {}

  private final SplittableRandom random;
  private final int[] sent = new int[POISONS];
  private int requests;

  Hostile(long seed) {
    random = new SplittableRandom(seed);
  }

  /**
   * The faults of a run that begin during it.
   *
   * @throws IllegalArgumentException if there are fewer engines than faults need
   */
  static List<Strikes.Strike> plan(int engines, int seconds) {
    if (engines < LEAST_ENGINES) {
      throw new IllegalArgumentException(
          "engines: " + engines + " (expected: at least " + LEAST_ENGINES + ")");
    }
    int third = Math.max(1000, seconds * 1000 / 3);
    return List.of(new Strikes.Strike(third, CUT_OFF, ChaosFault.FREEZE, third));
  }

  /** The text that ends an engine. */
  static String poison(int number) {
    return "poison-" + number + ".";
  }

  /** The text of the next request if it is a poison; empty for a good one. */
  String next() {
    requests++;
    if (requests % POISON_EVERY != 0) {
      return "";
    }
    int number = (requests / POISON_EVERY - 1) % POISONS;
    sent[number]++;
    return poison(number);
  }

  /** Time after which the client leaves, in milliseconds; 0 if it waits. */
  int patienceMillis() {
    return random.nextInt(LEAVES_EVERY) == 0
        ? random.nextInt(LEAST_PATIENCE_MILLIS, MOST_PATIENCE_MILLIS)
        : 0;
  }

  /**
   * The losses.
   *
   * @param counts engines lost to each poison, in order, separated by commas
   */
  Losses losses(String counts) {
    int[] lost = Arrays.stream(counts.split(",", -1)).mapToInt(Integer::parseInt).toArray();
    int most = 0;
    for (int i = 0; i < lost.length; i++) {
      most = Math.max(most, Math.ceilDiv(lost[i], Math.max(1, sent[i])));
    }
    return new Losses(Arrays.stream(sent).sum(), Arrays.stream(lost).sum(), most);
  }
}
