package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.HolderBitmap;
import io.pointsman.engine.prefix.IndexedLengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Who holds how much of one prompt: the prefix lengths at which the number of holders changes, from
 * the longest on, each with its holders. Whoever holds a prefix holds every shorter one, so these
 * few say all; they are found by halving.
 */
public final class PrefixHolders {
  /** Lengths told apart; shorter ones count as not held. */
  private static final int MOST = 8;

  /** Holders of one length that are not a crowd. */
  private static final int FEW = 8;

  /** So many {@link #places} at most. */
  static final int MOST_PLACES = MOST * FEW;

  /** Most prompts have no more lengths. */
  private static final int FIRST = 2;

  private final PrefixIndex index;
  private final PrefixBlocks prefix;
  private final BlockIndex.Holders seen = new BlockIndex.Holders();
  private int[] blocks = new int[FIRST];
  private @Nullable HolderBitmap[] crowds = new HolderBitmap[FIRST];

  /** The slots of few holders, {@link #FEW} places for each length; unused ones are -1. */
  private int[] slots = new int[FIRST * FEW];

  private int count;

  private PrefixHolders(PrefixIndex index, PrefixBlocks prefix) {
    this.index = index;
    this.prefix = prefix;
    Arrays.fill(slots, -1);
  }

  /** Null if nobody holds anything. */
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
    // Ordinals of milestones; the one at high has no more holders than the length found last.
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

  private int holdersAt(int milestone) {
    return holders(IndexedLengths.blocks(milestone));
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
    HolderBitmap crowd = seen.crowd();
    blocks[count] = length;
    crowds[count] = crowd;
    for (int i = 0; crowd == null && i < Math.min(FEW, holders); i++) {
      slots[count * FEW + i] = seen.slot(i);
    }
    count++;
    return holders;
  }

  private void grow() {
    blocks = Arrays.copyOf(blocks, 2 * count);
    crowds = Arrays.copyOf(crowds, 2 * count);
    slots = Arrays.copyOf(slots, 2 * count * FEW);
    Arrays.fill(slots, count * FEW, slots.length, -1);
  }

  /** Blocks that whoever holds most holds. */
  int longest() {
    return blocks[0];
  }

  /** Blocks that the worker in {@code slot} holds. */
  public int blocks(int slot) {
    for (int i = 0; i < count; i++) {
      HolderBitmap crowd = crowds[i];
      if (crowd == null ? among(i, slot) : crowd.holds(slot)) {
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

  /** Places of holders that are few, to be asked for by {@link #slot}. */
  int places() {
    return count * FEW;
  }

  /** A holder, or -1 for none: {@code place} is below {@link #places}. */
  int slot(int place) {
    return slots[place];
  }
}
