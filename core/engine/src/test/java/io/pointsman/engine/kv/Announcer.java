package io.pointsman.engine.kv;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A test engine's view of prompts: cuts them into blocks and names these as engines do. */
public final class Announcer {
  private final int blockSize;

  /** Different engines name equal blocks differently. */
  private final long seed;

  public Announcer(int blockSize, long seed) {
    this.blockSize = blockSize;
    this.seed = seed;
  }

  /** {@code length} token ids of prompt number {@code n}. */
  public static int[] prompt(long n, int length) {
    SplittableRandom random = new SplittableRandom(n);
    return IntStream.generate(() -> random.nextInt(150_000)).limit(length).toArray();
  }

  /** The first {@code shared} ids of one prompt, then those of another. */
  public static int[] branch(int[] of, int shared, int[] then) {
    int[] ids = Arrays.copyOf(of, shared + then.length);
    System.arraycopy(then, 0, ids, shared, then.length);
    return ids;
  }

  /** The engine's id of the block that ends after {@code blocks} blocks of a prompt. */
  public long id(@Nullable String adapter, int[] prompt, int blocks) {
    long hash = seed + (adapter == null ? 0 : adapter.hashCode());
    return extended(hash, prompt, 0, blocks);
  }

  /** The ids of all complete blocks of a prompt from {@code from} on. */
  public long[] ids(@Nullable String adapter, int[] prompt, int from) {
    int count = prompt.length / blockSize - from;
    if (count <= 0) {
      return new long[0];
    }
    long[] ids = new long[count];
    long hash = id(adapter, prompt, from);
    for (int i = 0; i < count; i++) {
      hash = extended(hash, prompt, from + i, from + i + 1);
      ids[i] = hash;
    }
    return ids;
  }

  /** The id of a block, from the id of an earlier one. */
  private long extended(long hash, int[] prompt, int from, int to) {
    long longer = hash;
    for (int i = from * blockSize; i < to * blockSize; i++) {
      longer = longer * 0x5851F42D4C957F2DL + prompt[i] + 1;
    }
    return longer;
  }

  /** All complete blocks of a prompt are on the device. */
  public KvEvent stored(int... prompt) {
    return stored(null, prompt, 0, KvTier.DEVICE);
  }

  /** The complete blocks of a prompt from index {@code from} on are on {@code tier}. */
  public KvEvent stored(@Nullable String adapter, int[] prompt, int from, KvTier tier) {
    int end = prompt.length / blockSize * blockSize;
    return new KvEvent.Stored(
        ids(adapter, prompt, from),
        from == 0 ? null : Long.valueOf(id(adapter, prompt, from)),
        Arrays.copyOfRange(prompt, from * blockSize, end),
        blockSize,
        tier,
        adapter,
        true);
  }

  /** The blocks of a prompt from index {@code from} on left {@code tier}. */
  public KvEvent removed(int[] prompt, int from, KvTier tier) {
    return new KvEvent.Removed(ids(null, prompt, from), tier);
  }

  /** Returns the events as one message. */
  public static List<KvEvent> batch(KvEvent... events) {
    return List.of(events);
  }
}
