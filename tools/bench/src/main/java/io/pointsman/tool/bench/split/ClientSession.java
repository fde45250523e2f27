package io.pointsman.tool.bench.split;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * A client that sends several requests about one text. Times are engine time.
 *
 * @param startSeconds start in seconds since the start of the run
 * @param longText true if its first prompt is long
 * @param turns requests in order; at least one
 */
record ClientSession(double startSeconds, boolean longText, List<Turn> turns) {
  private static final double LONG_SHARE = 0.25;
  private static final int SHORTEST_LONG = 8192;
  private static final int LONGEST_LONG = 32_768;

  /**
   * One request.
   *
   * @param words new words before the answer; one token each
   * @param output output tokens
   * @param thinkSeconds pause before the request in seconds
   */
  record Turn(int words, int output, double thinkSeconds) {}

  /**
   * Draws sessions with random starts. A quarter begins with a text of 8 K to 32 K tokens, the
   * others with 100 to 600. Up to four further questions of 30 to 200 tokens follow.
   *
   * @param perSecond mean number of sessions per second
   * @param seconds period of the starts in seconds
   */
  static List<ClientSession> draw(double perSecond, double seconds, long seed) {
    Random random = new Random(seed);
    List<ClientSession> sessions = new ArrayList<>();
    double at = pause(random, 1 / perSecond);
    while (at < seconds) {
      sessions.add(draw(at, random));
      at += pause(random, 1 / perSecond);
    }
    return sessions;
  }

  private static ClientSession draw(double at, Random random) {
    boolean longText = random.nextDouble() < LONG_SHARE;
    int first =
        longText
            ? (int) Math.round(SHORTEST_LONG * Math.pow(4, random.nextDouble()))
            : 100 + random.nextInt(501);
    List<Turn> turns = new ArrayList<>();
    turns.add(new Turn(Math.min(first, LONGEST_LONG), output(random), 0));
    for (int more = random.nextInt(5); more > 0; more--) {
      turns.add(new Turn(30 + random.nextInt(171), output(random), pause(random, 3)));
    }
    return new ClientSession(at, longText, turns);
  }

  private static int output(Random random) {
    return 50 + random.nextInt(151);
  }

  private static double pause(Random random, double mean) {
    return -Math.log(1 - random.nextDouble()) * mean;
  }
}
