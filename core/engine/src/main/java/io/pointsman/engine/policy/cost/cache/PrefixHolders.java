package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.HolderBitmap;
import io.pointsman.engine.prefix.IndexedLengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The holders of one prompt: the prefix lengths at which the number of holders changes, the longest
 * first, each with its holders. A holder of a prefix also holds every shorter one, so these few
 * lengths are enough. A binary search finds them.
 */
public final class PrefixHolders {
  /** Maximum number of lengths; shorter ones count as not cached. */
  private static final int MOST = 8;

  /** Maximum number of holders of one length that are listed by slot. */
  private static final int FEW = 8;

  /** Maximum of {@link #places}. */
  static final int MOST_PLACES = MOST * FEW;

  /** Most prompts have at most this many lengths. */
  private static final int FIRST = 2;

  private final PrefixIndex index;
  private final PrefixBlocks prefix;
  private final BlockIndex.Holders seen = new BlockIndex.Holders();
  private int[] blocks = new int[FIRST];
  private @Nullable HolderBitmap[] bitmaps = new HolderBitmap[FIRST];

  /** The slots of listed holders, {@link #FEW} places for each length; unused ones are -1. */
  private int[] slots = new int[FIRST * FEW];

  private int count;

  private PrefixHolders(PrefixIndex index, PrefixBlocks prefix) {
    this.index = index;
    this.prefix = prefix;
    Arrays.fill(slots, -1);
  }

  /** Returns null if no worker has any part. */
  public static @Nullable PrefixHolders of(PrefixIndex index, PrefixBlocks prefix) {
    int longest = index.match(prefix);
    if (longest == 0) {
      return null;
    }
    PrefixHolders found = new PrefixHolders(index, prefix);
    found.look(longest);
    return found;
  }

  private void look(int longest) {
    int holders = add(longest);
    int most = holders(1);
    // Ordinals of indexed lengths. The one at high has no more holders than the length found last.
    int high = IndexedLengths.upTo(longest - 1);
    while (holders < most && high > 0 && count < MOST) {
      int low = 0;
      while (high - low > 1) {
        int middle = (low + high) >>> 1;
        if (holdersAt(middle) > holders) {
          low = middle;
        } else {
          high = middle;
        }
      }
      holders = add(IndexedLengths.blocks(low));
      high = low;
    }
  }

  private int holdersAt(int ordinal) {
    return holders(IndexedLengths.blocks(ordinal));
  }

  private int holders(int length) {
    index.look(prefix, length, seen);
    return seen.size();
  }

  private int add(int length) {
    if (count == blocks.length) {
      grow();
    }
    int holders = holders(length);
    HolderBitmap many = seen.holderBitmap();
    blocks[count] = length;
    bitmaps[count] = many;
    for (int i = 0; many == null && i < Math.min(FEW, holders); i++) {
      slots[count * FEW + i] = seen.slot(i);
    }
    count++;
    return holders;
  }

  private void grow() {
    blocks = Arrays.copyOf(blocks, 2 * count);
    bitmaps = Arrays.copyOf(bitmaps, 2 * count);
    slots = Arrays.copyOf(slots, 2 * count * FEW);
    Arrays.fill(slots, count * FEW, slots.length, -1);
  }

  /** Returns the most blocks that any worker has. */
  int longest() {
    return blocks[0];
  }

  /** Returns the blocks that the worker in {@code slot} has. */
  public int blocks(int slot) {
    for (int i = 0; i < count; i++) {
      HolderBitmap many = bitmaps[i];
      if (many == null ? among(i, slot) : many.holds(slot)) {
        return blocks[i];
      }
    }
    return 0;
  }

  private boolean among(int length, int slot) {
    for (int at = length * FEW; at < (length + 1) * FEW && slots[at] >= 0; at++) {
      if (slots[at] == slot) {
        return true;
      }
    }
    return false;
  }

  /** Returns the number of places for {@link #slot}. */
  int places() {
    return count * FEW;
  }

  /** Returns the slot of a holder, or -1 for none: {@code place} is below {@link #places}. */
  int slot(int place) {
    return slots[place];
  }
}
