package io.pointsman.tool.replay.trace;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.LongFunction;

/** Generated workloads by name, from a seed. */
public final class Workloads {
  private static final int BLOCK_TOKENS = 64;

  /** Agents that call tools; they add the tools' results. */
  private static final Habits AGENTS = new Habits(800, 4, 3000, 1500, 2, 28, 150, 800, 2000);

  /** People in a chat; they read and think between turns. */
  private static final Habits PEOPLE = new Habits(2000, 8, 1000, 300, 1, 11, 300, 150, 15_000);

  private static final Map<String, LongFunction<Trace>> BY_NAME =
      new TreeMap<>(
          Map.of(
              "best-of-n",
              Workloads::bestOfN,
              "multi-turn",
              Workloads::multiTurn,
              "tool-loops",
              Workloads::toolLoops));

  private Workloads() {}

  /** All names, sorted. */
  public static List<String> names() {
    return List.copyOf(BY_NAME.keySet());
  }

  public static boolean has(String name) {
    return BY_NAME.containsKey(name);
  }

  /**
   * Generates the workload of this name.
   *
   * @throws IllegalArgumentException if the name is unknown
   */
  public static Trace make(String name, long seed) {
    LongFunction<Trace> maker = BY_NAME.get(name);
    if (maker == null) {
      throw new IllegalArgumentException(
          "workload: " + name + " (expected: one of " + String.join(", ", names()) + ")");
    }
    return maker.apply(seed);
  }

  /** Groups of 8 equal prompts within 20 ms: on average 4,475 tokens in and 401 out. */
  private static Trace bestOfN(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<TraceRequest> requests = new ArrayList<>();
    double at = 0;
    for (int group = 0; group < 1500; group++) {
      at += exponential(random, 300);
      int input = (int) Math.clamp(4475 * spread(random), 64, 60_000);
      long[] blocks = new Prompt(random.nextLong()).grow(input);
      List<Double> arrivals = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        arrivals.add(at + random.nextDouble() * 20);
      }
      arrivals.sort(null);
      for (double arrival : arrivals) {
        int output = (int) Math.clamp(401 * spread(random), 1, 8000);
        requests.add(new TraceRequest(arrival, -1, input, output, blocks));
      }
    }
    requests.sort((a, b) -> Double.compare(a.at(), b.at()));
    return new Trace("best-of-n", BLOCK_TOKENS, requests);
  }

  private static Trace multiTurn(long seed) {
    return sessions("multi-turn", PEOPLE, seed);
  }

  private static Trace toolLoops(long seed) {
    return sessions("tool-loops", AGENTS, seed);
  }

  /**
   * Sessions: one of several system prompts and an opening, then turns. Each turn adds the previous
   * response and new text, and follows after a pause.
   */
  private static Trace sessions(String name, Habits habits, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    long[] kinds = random.longs(habits.kinds).toArray();
    List<TraceRequest> requests = new ArrayList<>();
    double at = 0;
    for (int session = 0; session < habits.sessions; session++) {
      at += exponential(random, 1000);
      Prompt prompt = new Prompt(kinds[random.nextInt(kinds.length)]);
      prompt.grow(habits.system);
      prompt.branch(random.nextLong());
      int input = habits.system + (int) Math.clamp(habits.opening * spread(random), 50, 30_000);
      int turns = habits.fewestTurns + random.nextInt(habits.moreTurns + 1);
      int last = -1;
      for (int turn = 0; turn < turns && input < 100_000; turn++) {
        int output = (int) Math.clamp(habits.answer * spread(random), 1, 4000);
        double when = turn == 0 ? at : exponential(random, habits.pauseMillis);
        requests.add(new TraceRequest(when, last, input, output, prompt.grow(input)));
        last = requests.size() - 1;
        input += output + (int) Math.clamp(habits.addition * spread(random), 10, 20_000);
      }
    }
    return new Trace(name, BLOCK_TOKENS, requests);
  }

  private static double exponential(SplittableRandom random, double mean) {
    return -mean * Math.log(1 - random.nextDouble());
  }

  /** A log-normal factor with mean 1. */
  private static double spread(SplittableRandom random) {
    double sigma = 0.6;
    return Math.exp(sigma * random.nextGaussian() - sigma * sigma / 2);
  }

  /**
   * The parameters of sessions; lengths in tokens.
   *
   * @param sessions total number
   * @param kinds number of different system prompts
   * @param system length of each
   * @param opening mean length of a session's first message
   * @param fewestTurns minimum turns of a session
   * @param moreTurns maximum of additional turns
   * @param answer mean length of a response
   * @param addition mean length of a later turn's new text
   * @param pauseMillis mean time from the end of a response to the next turn
   */
  private record Habits(
      int sessions,
      int kinds,
      int system,
      double opening,
      int fewestTurns,
      int moreTurns,
      double answer,
      double addition,
      double pauseMillis) {}

  /** Text that grows: the hashes of its blocks. */
  private static final class Prompt {
    private final List<Long> hashes = new ArrayList<>();
    private long chain;

    Prompt(long start) {
      chain = start;
    }

    /** Makes the following text unique to this prompt. */
    void branch(long salt) {
      chain ^= salt;
    }

    /** The hashes of the first {@code tokens}; the last, partial block is unique. */
    long[] grow(int tokens) {
      while (hashes.size() < tokens / BLOCK_TOKENS) {
        chain = PrefixBlocks.mix(chain);
        hashes.add(chain);
      }
      int whole = tokens / BLOCK_TOKENS;
      boolean partial = tokens % BLOCK_TOKENS != 0;
      long[] blocks = new long[whole + (partial ? 1 : 0)];
      for (int i = 0; i < whole; i++) {
        blocks[i] = hashes.get(i);
      }
      if (partial) {
        blocks[whole] = PrefixBlocks.mix(chain ^ tokens);
      }
      return blocks;
    }
  }
}
