package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.Crowd;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * How much of one prompt each worker holds, as announced. Found are the lengths at which the number
 * of holders changes, from the longest on, each by halving: a source that holds a prefix holds
 * every shorter one. Once the index has dropped claims, what is missing proves nothing, so that a
 * length is looked for from the longest on, and what is found stands for all that is shorter. For
 * one thread.
 */
public final class KvHits {
  /** Nobody holds anything. */
  public static final KvHits NONE = new KvHits(null, PrefixBlocks.NONE, 0, 0);

  /** Lengths told apart; a source that holds less than the last of them counts as holding none. */
  private static final int MOST = 32;

  private static final int FIRST = 4;

  /** Holders of one length that are not a crowd. */
  private static final int FEW = 8;

  /** So many {@link #places} at most. */
  public static final int MOST_PLACES = MOST * FEW;

  private static final int NOBODY = -1;
  private static final int DEVICE = KvTier.DEVICE.index();
  private static final KvTier[] TIERS = KvTier.values();

  private final @Nullable KvIndex kv;
  private final PrefixBlocks tokens;
  private final long start;

  /** Blocks that can be held: the last token is always computed. */
  private final int most;

  private int count;
  private int[] lengths = new int[0];
  private @Nullable Crowd[] crowds = new Crowd[0];

  /** The slots of few holders, {@link #FEW} places for each length; unused ones are -1. */
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

  /** Whether anybody is found to hold any of it on the device. */
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

  /** Blocks of the longest prefix that anybody is found to hold; 0 if there is none. */
  private int longest(BlockIndex index) {
    if (index.held(key(most - 1))) {
      return most;
    }
    int high = most;
    int low = 1;
    if (index.evicting()) {
      low = most >>> 1;
      while (low > 0 && !index.held(key(low - 1))) {
        high = low;
        low >>>= 1;
      }
    } else if (!index.held(key(0))) {
      low = 0;
    }
    while (low > 0 && high - low > 1) {
      int middle = (low + high) >>> 1;
      if (index.held(key(middle - 1))) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Blocks of a short prefix that is not missing: 1, unless claims have been dropped. */
  private int shortest(BlockIndex index, int longest) {
    int shortest = 1;
    while (shortest < longest && !index.held(key(shortest - 1))) {
      shortest = Math.min(2 * shortest, longest);
    }
    return shortest;
  }

  private int add(BlockIndex index, int length) {
    if (count == lengths.length) {
      int bigger = Math.max(FIRST, 2 * count);
      lengths = Arrays.copyOf(lengths, bigger);
      crowds = Arrays.copyOf(crowds, bigger);
      slots = Arrays.copyOf(slots, bigger * FEW);
      Arrays.fill(slots, count * FEW, slots.length, NOBODY);
    }
    long key = key(length - 1);
    Crowd crowd = index.crowd(key);
    lengths[count] = length;
    crowds[count] = crowd;
    int few = 0;
    if (crowd == null) {
      for (int holder = index.holder(key, 0);
          holder != BlockIndex.NOBODY && few < FEW;
          holder = index.holder(key, BlockIndex.after(holder))) {
        slots[count * FEW + few++] = BlockIndex.slotOf(holder);
      }
    }
    count++;
    return crowd == null ? few : crowd.size();
  }

  /** Blocks that the worker holds which holds most, on its device. */
  public int longest() {
    return count == 0 ? 0 : lengths[0];
  }

  /**
   * Whether only a part of the prompt's ids is known, and the worker in a slot has all of that part
   * on its device: then announcements say nothing of the rest.
   */
  public boolean allKnownIds(int workerSlot) {
    if (kv != null && tokens.tokens() - tokens.length() >= TokenIds.PER_BLOCK) {
      for (KvSource source : kv.sources(workerSlot)) {
        if (source.live() && run(source.slot()) == most) {
          return true;
        }
      }
    }
    return false;
  }

  /** Whether anybody may hold any of it. */
  public boolean any() {
    return kv != null;
  }

  /** Blocks of 16 tokens that the worker in a slot has on its device, from the first on. */
  public int device(int workerSlot) {
    int longest = 0;
    if (kv != null) {
      for (KvSource source : kv.sources(workerSlot)) {
        longest = source.live() ? Math.max(longest, run(source)) : longest;
      }
    }
    return longest;
  }

  /**
   * Tokens that the worker in a slot need not compute, counted by what they are worth: those on its
   * device, from the first on, and those behind them that another tier holds. Of several ranks the
   * best. Less than the prompt's length.
   */
  public double credit(int workerSlot, KvCredits credits) {
    double best = 0;
    if (kv != null) {
      for (KvSource source : kv.sources(workerSlot)) {
        if (source.live()) {
          best = Math.max(best, blocks(kv, source, credits));
        }
      }
    }
    return Math.min(best * TokenIds.PER_BLOCK, Math.max(0, tokens.tokens() - 1));
  }

  /** Places of holders that are few, to be asked for by {@link #slot}. */
  public int places() {
    return count * FEW;
  }

  /** The slot of a worker that holds some of it, or -1 for none: below {@link #places}. */
  public int slot(int place) {
    int slot = slots[place];
    return kv != null && slot < kv.maxWorkers() ? slot : NOBODY;
  }

  private double blocks(KvIndex kv, KvSource source, KvCredits credits) {
    int device = run(source);
    int longest = device;
    double credit = 0;
    for (int tier = DEVICE + 1; tier < TIERS.length; tier++) {
      if (source.uses(tier) && device < most) {
        int end = device;
        while (end < most && kv.index().holds(KvSource.onTier(key(end), tier), source.slot())) {
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

  private int run(KvSource source) {
    return whole(source, run(source.slot()));
  }

  /** Engines reuse whole blocks of their own size. */
  private static int whole(KvSource source, int blocks) {
    int size = source.blockSize();
    return size <= TokenIds.PER_BLOCK
        ? blocks
        : blocks * TokenIds.PER_BLOCK / size * size / TokenIds.PER_BLOCK;
  }

  private int run(int slot) {
    for (int i = 0; i < count; i++) {
      Crowd crowd = crowds[i];
      if (crowd == null ? among(i, slot) : crowd.holds(slot)) {
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
