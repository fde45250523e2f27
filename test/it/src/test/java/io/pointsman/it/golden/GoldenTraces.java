package io.pointsman.it.golden;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Small workloads for the golden decisions. They use whole numbers only, because the last digit of
 * an exponential or a logarithm can depend on the machine.
 */
final class GoldenTraces {
  private static final int BLOCK_TOKENS = 64;

  private GoldenTraces() {}

  /** 400 single questions; each begins with one of six system prompts, some of them popular. */
  static Trace chat() {
    SplittableRandom random = new SplittableRandom(11);
    List<TraceRequest> requests = new ArrayList<>();
    int at = 0;
    for (int i = 0; i < 400; i++) {
      at += random.nextInt(50);
      int kind = Math.min(random.nextInt(6), random.nextInt(6));
      int shared = BLOCK_TOKENS * (8 + 4 * kind);
      int input = shared + 20 + random.nextInt(1500);
      long[] blocks = blocks(input, shared, 100 + kind, 1000 + i);
      requests.add(new TraceRequest(at, -1, input, 10 + random.nextInt(250), blocks));
    }
    return new Trace("chat", BLOCK_TOKENS, requests);
  }

  /** 70 sessions of one to eight turns; each turn follows the end of the one before. */
  static Trace sessions() {
    SplittableRandom random = new SplittableRandom(12);
    List<TraceRequest> requests = new ArrayList<>();
    int at = 0;
    for (int session = 0; session < 70; session++) {
      at += random.nextInt(300);
      int shared = BLOCK_TOKENS * 12;
      int input = shared + 50 + random.nextInt(2000);
      int turns = 1 + random.nextInt(8);
      int last = -1;
      for (int turn = 0; turn < turns; turn++) {
        int output = 20 + random.nextInt(300);
        int when = turn == 0 ? at : 100 + random.nextInt(3000);
        long[] blocks = blocks(input, shared, 200 + session % 3, 2000 + session);
        requests.add(new TraceRequest(when, last, input, output, blocks));
        last = requests.size() - 1;
        input += output + 10 + random.nextInt(800);
      }
    }
    return new Trace("sessions", BLOCK_TOKENS, requests);
  }

  /** 40 groups of eight equal prompts within 20 ms. */
  static Trace burst() {
    SplittableRandom random = new SplittableRandom(13);
    List<TraceRequest> requests = new ArrayList<>();
    int at = 0;
    for (int group = 0; group < 40; group++) {
      at += random.nextInt(150);
      int input = 500 + random.nextInt(6000);
      long[] blocks = blocks(input, 0, 0, 3000 + group);
      for (int i = 0; i < 8; i++) {
        int output = 50 + random.nextInt(400);
        requests.add(new TraceRequest(at + random.nextInt(20), -1, input, output, blocks));
      }
    }
    requests.sort(Comparator.comparingDouble(TraceRequest::at));
    return new Trace("burst", BLOCK_TOKENS, requests);
  }

  /** Bursts of 40 long prompts: the engines have no room for all of them at once. */
  static Trace overload() {
    SplittableRandom random = new SplittableRandom(14);
    List<TraceRequest> requests = new ArrayList<>();
    for (int i = 0; i < 240; i++) {
      int conversation = (i * 31) % 60;
      int at = i / 40 * 6000 + random.nextInt(300);
      int input = 3000 + 2000 * (i / 60) + 100 * conversation;
      long[] blocks = blocks(input, 0, 0, 4000 + conversation);
      requests.add(new TraceRequest(at, -1, input, 10 + random.nextInt(40), blocks));
    }
    requests.sort(Comparator.comparingDouble(TraceRequest::at));
    return new Trace("overload", BLOCK_TOKENS, requests);
  }

  /**
   * Hashes of a prompt's blocks.
   *
   * @param shared first tokens; equal in all prompts with the same {@code start}
   * @param rest seed of the tokens behind them
   */
  private static long[] blocks(int tokens, int shared, long start, long rest) {
    long[] blocks = new long[Math.ceilDiv(tokens, BLOCK_TOKENS)];
    long chain = start;
    for (int i = 0; i < blocks.length; i++) {
      chain = PrefixBlocks.mix(i * BLOCK_TOKENS == shared ? chain ^ rest : chain);
      boolean partial = (i + 1) * BLOCK_TOKENS > tokens;
      blocks[i] = partial ? PrefixBlocks.mix(chain ^ tokens) : chain;
    }
    return blocks;
  }
}
