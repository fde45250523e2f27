package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.HolderBitmap;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The length of one prompt's prefix that each worker holds, according to KV events. A binary search
 * finds the lengths at which the number of holders changes, longest first. It relies on the rule
 * that a holder of a prefix holds every shorter one. After the index has dropped claims, a missing
 * entry proves nothing. The search then starts at the longest length, and a found length implies
 * all shorter ones. For one thread.
 */
public final class KvHits {
  /** No worker holds any block. */
  public static final KvHits NONE = new KvHits(null, PrefixBlocks.NONE, 0, 0);

  /**
   * Maximum number of distinct lengths; a worker with less than the shortest of them counts as
   * holding nothing.
   */
  private static final int MOST = 32;

  private static final int FIRST = 4;

  /** Maximum number of holders of one length that are stored individually. */
  private static final int FEW = 8;

  /** Maximum of {@link #places}. */
  public static final int MOST_PLACES = MOST * FEW;

  private static final int NOBODY = -1;
  private static final int DEVICE = KvTier.DEVICE.index();
  private static final KvTier[] TIERS = KvTier.values();

  private final @Nullable KvIndex kv;
  private final PrefixBlocks tokens;
  private final long start;

  /** Blocks that can be cached: the last token is always computed. */
  private final int most;

  private int count;
  private int[] lengths = new int[0];
  private @Nullable HolderBitmap[] bitmaps = new HolderBitmap[0];

  /**
   * Slots of individually stored holders, {@link #FEW} entries for each length; unused entries are
   * -1.
   */
  private int[] slots = new int[0];

  private KvHits(@Nullable KvIndex kv, PrefixBlocks tokens, long start, int most) {
    this.kv = kv;
    this.tokens = tokens;
    this.start = start;
    this.most = most;
  }

  static KvHits of(KvIndex kv, PrefixBlocks tokens, long start) {
    int full = tokens.length() / TokenIds.PER_BLOCK;
    int most = Math.min(full, (tokens.tokens() - 1) / TokenIds.PER_BLOCK);
    if (most <= 0) {
      return NONE;
    }
    KvHits hits = new KvHits(kv, tokens, start, most);
    boolean onDevice = hits.look(kv.index());
    return onDevice || others(kv) ? hits : NONE;
  }

  private static boolean others(KvIndex kv) {
    for (int tier = DEVICE + 1; tier < TIERS.length; tier++) {
      if (kv.blocks(tier) > 0) {
        return true;
      }
    }
    return false;
  }

  private long key(int block) {
    return tokens.rebased(block, start);
  }

  /**
   * Finds the holders on the device.
   *
   * @return true if there is any
   */
  private boolean look(BlockIndex index) {
    int longest = longest(index);
    if (longest == 0) {
      return false;
    }
    int shortest = shortest(index, longest);
    int holders = add(index, longest);
    int all = index.holders(key(shortest - 1));
    int high = longest;
    while (holders < all && high > shortest && count < MOST) {
      int low = shortest;
      while (high - low > 1) {
        int middle = (low + high) >>> 1;
        if (index.holders(key(middle - 1)) > holders) {
          low = middle;
        } else {
          high = middle;
        }
      }
      holders = add(index, low);
      high = low;
    }
    return true;
  }

  /** Returns the length in blocks of the longest prefix found on any device; 0 if there is none. */
  private int longest(BlockIndex index) {
    if (index.contains(key(most - 1))) {
      return most;
    }
    int high = most;
    int low = 1;
    if (index.evicting()) {
      low = most >>> 1;
      while (low > 0 && !index.contains(key(low - 1))) {
        high = low;
        low >>>= 1;
      }
    } else if (!index.contains(key(0))) {
      low = 0;
    }
    while (low > 0 && high - low > 1) {
      int middle = (low + high) >>> 1;
      if (index.contains(key(middle - 1))) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /**
   * Returns the length in blocks of a short prefix that is present: 1, unless claims were dropped.
   */
  private int shortest(BlockIndex index, int longest) {
    int shortest = 1;
    while (shortest < longest && !index.contains(key(shortest - 1))) {
      shortest = Math.min(2 * shortest, longest);
    }
    return shortest;
  }

  private int add(BlockIndex index, int length) {
    if (count == lengths.length) {
      int bigger = Math.max(FIRST, 2 * count);
      lengths = Arrays.copyOf(lengths, bigger);
      bitmaps = Arrays.copyOf(bitmaps, bigger);
      slots = Arrays.copyOf(slots, bigger * FEW);
      Arrays.fill(slots, count * FEW, slots.length, NOBODY);
    }
    long key = key(length - 1);
    HolderBitmap bitmap = index.holderBitmap(key);
    lengths[count] = length;
    bitmaps[count] = bitmap;
    int few = 0;
    if (bitmap == null) {
      for (int holder = index.holder(key, 0);
          holder != BlockIndex.NOBODY && few < FEW;
          holder = index.holder(key, BlockIndex.after(holder))) {
        slots[count * FEW + few++] = BlockIndex.slotOf(holder);
      }
    }
    count++;
    return bitmap == null ? few : bitmap.size();
  }

  /** The longest prefix in blocks on any worker's device. */
  public int longest() {
    return count == 0 ? 0 : lengths[0];
  }

  /**
   * Returns true if only a beginning of the prompt's ids is known and the worker holds all of it on
   * its device. KV events then give no information on the rest.
   */
  public boolean allKnownIds(int workerSlot) {
    if (kv != null && tokens.tokens() - tokens.length() >= TokenIds.PER_BLOCK) {
      for (KvEventState source : kv.sources(workerSlot)) {
        if (source.live() && run(source.slot()) == most) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns true if any worker may hold a part of the prompt. */
  public boolean any() {
    return kv != null;
  }

  /** Prefix length on the device of the worker in a slot, in blocks of 16 tokens. */
  public int device(int workerSlot) {
    int longest = 0;
    if (kv != null) {
      for (KvEventState source : kv.sources(workerSlot)) {
        longest = source.live() ? Math.max(longest, run(source)) : longest;
      }
    }
    return longest;
  }

  /**
   * Tokens that the worker in a slot need not compute, weighted by tier. They are the prefix on its
   * device, then the continuation on one other tier. For several ranks the best one counts. The
   * result is less than the prompt length.
   */
  public double credit(int workerSlot, KvCredits credits) {
    double best = 0;
    if (kv != null) {
      for (KvEventState source : kv.sources(workerSlot)) {
        if (source.live()) {
          best = Math.max(best, blocks(kv, source, credits));
        }
      }
    }
    return Math.min(best * TokenIds.PER_BLOCK, Math.max(0, tokens.tokens() - 1));
  }

  /** Number of entries that {@link #slot} accepts. */
  public int places() {
    return count * FEW;
  }

  /**
   * Returns the slot of a worker that holds some of the prompt, or -1.
   *
   * @param place 0 to {@link #places} - 1
   */
  public int slot(int place) {
    int slot = slots[place];
    return kv != null && slot < kv.slots() ? slot : NOBODY;
  }

  private double blocks(KvIndex kv, KvEventState source, KvCredits credits) {
    int device = run(source);
    int longest = device;
    double credit = 0;
    for (int tier = DEVICE + 1; tier < TIERS.length; tier++) {
      if (source.uses(tier) && device < most) {
        int end = device;
        while (end < most && kv.index().holds(KvEventState.onTier(key(end), tier), source.slot())) {
          end++;
        }
        end = whole(source, end);
        double worth = credits.of(TIERS[tier]);
        if (end > longest || (end == longest && end > device && worth > credit)) {
          longest = end;
          credit = worth;
        }
      }
    }
    return device + (longest - device) * credit;
  }

  private int run(KvEventState source) {
    return whole(source, run(source.slot()));
  }

  /** Rounds down to whole blocks of the engine, because engines reuse only these. */
  private static int whole(KvEventState source, int blocks) {
    int size = source.blockSize();
    return size <= TokenIds.PER_BLOCK
        ? blocks
        : blocks * TokenIds.PER_BLOCK / size * size / TokenIds.PER_BLOCK;
  }

  private int run(int slot) {
    for (int i = 0; i < count; i++) {
      HolderBitmap bitmap = bitmaps[i];
      if (bitmap == null ? among(i, slot) : bitmap.holds(slot)) {
        return lengths[i];
      }
    }
    return 0;
  }

  private boolean among(int length, int slot) {
    for (int at = length * FEW; at < (length + 1) * FEW && slots[at] != NOBODY; at++) {
      if (slots[at] == slot) {
        return true;
      }
    }
    return false;
  }
}
