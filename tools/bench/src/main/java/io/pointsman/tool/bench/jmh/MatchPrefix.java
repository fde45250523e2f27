package io.pointsman.tool.bench.jmh;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Time of the prefix index's operations for one prompt in blocks of 16 tokens. The index is full,
 * so it evicts.
 */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class MatchPrefix {
  private static final int BLOCK = 16;
  private static final int PROMPTS = 64;

  @Param({"1024", "4096", "16384", "131072"})
  public int tokens;

  /**
   * Size of the index in MiB. The small one fits the processor's caches; the large one does not.
   */
  @Param({"1", "64"})
  public int mebibytes;

  private PrefixIndex index = new PrefixIndex(1 << 20, 4096);
  private PrefixBlocks[] whole = {};
  private PrefixBlocks[] half = {};
  private long[] pieces = {};
  private PrefixBlocks fresh = PrefixBlocks.NONE;
  private long turn;

  @Setup
  public void prepare() {
    index = new PrefixIndex((long) mebibytes << 20, 4096);
    int count = tokens / BLOCK;
    Random random = new Random(1);
    while (index.evictions() == 0) {
      index.add(prompt(random.longs(count).toArray()), index.epoch(1), 0, 0);
    }
    whole = new PrefixBlocks[PROMPTS];
    half = new PrefixBlocks[PROMPTS];
    long now = TimeUnit.HOURS.toNanos(1);
    for (int i = 0; i < PROMPTS; i++) {
      long[] hashes = random.longs(count).toArray();
      whole[i] = prompt(hashes);
      index.add(whole[i], index.epoch(2), 0, now);
      long[] parted = hashes.clone();
      System.arraycopy(random.longs(count / 2).toArray(), 0, parted, count - count / 2, count / 2);
      half[i] = prompt(parted);
    }
    pieces = random.longs(count).toArray();
    fresh = prompt(random.longs(count).toArray());
  }

  private static PrefixBlocks prompt(long[] hashes) {
    int tokens = hashes.length * BLOCK;
    return new PrefixBlocks(hashes, hashes.length, tokens, BLOCK, tokens);
  }

  /** The index contains the complete prompt. */
  @Benchmark
  public int matchWhole() {
    return index.match(whole[(int) (turn++ & (PROMPTS - 1))]);
  }

  /** The index contains the first half of the prompt. */
  @Benchmark
  public int matchHalf() {
    return index.match(half[(int) (turn++ & (PROMPTS - 1))]);
  }

  /** Adds a new prompt, which evicts others. The time includes the creation of its hashes. */
  @Benchmark
  public void addNew() {
    long salt = PrefixBlocks.mix(turn++);
    long[] hashes = fresh.hashes();
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] ^= salt;
    }
    index.add(fresh, index.epoch(3), 0, TimeUnit.HOURS.toNanos(2) + turn);
  }

  /** Chains the hashes of a prompt's blocks. */
  @Benchmark
  public PrefixBlocks chain() {
    return PrefixBlocks.chain(turn++, pieces, pieces.length, tokens, BLOCK, tokens);
  }
}
