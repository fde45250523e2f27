package io.pointsman.replay.trace;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.LongFunction;

/** Workloads made up from a seed, by name. */
public final class Workloads {
  private static final int BLOCK_TOKENS = 64;

  private static final Map<String, LongFunction<Trace>> BY_NAME =
      new TreeMap<>(Map.of("best-of-n", Workloads::bestOfN, "tool-loops", Workloads::toolLoops));

  private Workloads() {}

  /** All names, sorted. */
  public static List<String> names() {
    return List.copyOf(BY_NAME.keySet());
  }

  public static boolean has(String name) {
    return BY_NAME.containsKey(name);
  }

  /**
   * The workload of this name.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Trace make(String name, long seed) {
    LongFunction<Trace> maker = BY_NAME.get(name);
    if (maker == null) {
      throw new IllegalArgumentException(
          "workload: " + name + " (expected: one of " + String.join(", ", names()) + ")");
    }
    return maker.apply(seed);
  }

  /** Groups of 8 equal prompts within 20 ms: 4,475 tokens in and 401 out on average. */
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

  /**
   * Agents that call tools: a system prompt of one of 4 kinds, then 2 to 30 turns, each adding the
   * answer before and a tool's result; the next turn comes when the tool has worked, 2 s on
   * average.
   */
  private static Trace toolLoops(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    long[] kinds = random.longs(4).toArray();
    List<TraceRequest> requests = new ArrayList<>();
    double at = 0;
    for (int session = 0; session < 800; session++) {
      at += exponential(random, 1000);
      Prompt prompt = new Prompt(kinds[random.nextInt(kinds.length)]);
      prompt.grow(3000);
      prompt.branch(random.nextLong());
      int input = 3000 + (int) Math.clamp(1500 * spread(random), 50, 30_000);
      int turns = 2 + random.nextInt(29);
      int last = -1;
      for (int turn = 0; turn < turns && input < 100_000; turn++) {
        int output = (int) Math.clamp(150 * spread(random), 1, 4000);
        double when = turn == 0 ? at : exponential(random, 2000);
        requests.add(new TraceRequest(when, last, input, output, prompt.grow(input)));
        last = requests.size() - 1;
        input += output + (int) Math.clamp(800 * spread(random), 10, 20_000);
      }
    }
    return new Trace("tool-loops", BLOCK_TOKENS, requests);
  }

  private static double exponential(SplittableRandom random, double mean) {
    return -mean * Math.log(1 - random.nextDouble());
  }

  /** A factor with mean 1 that is sometimes large: log-normal. */
  private static double spread(SplittableRandom random) {
    double sigma = 0.6;
    return Math.exp(sigma * random.nextGaussian() - sigma * sigma / 2);
  }

  /** Text that grows: the hashes of its blocks. */
  private static final class Prompt {
    private final List<Long> hashes = new ArrayList<>();
    private long chain;

    Prompt(long start) {
      chain = start;
    }

    /** What follows is another's. */
    void branch(long salt) {
      chain ^= salt;
    }

    /** The hashes of the first {@code tokens}; the last, partial block is nobody else's. */
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
