package io.pointsman.engine.prefix;

import io.pointsman.engine.env.LargePages;
import org.jspecify.annotations.Nullable;

/**
 * An index of the workers expected to hold each block. Blocks are identified by hash; their content
 * does not matter.
 *
 * <p>Safe for any number of threads. Reads and writes are lock-free and never wait. Colliding
 * writes may be lost, but not mixed up. A worker is found only for a block that was added for it
 * and not forgotten since.
 *
 * <p>Memory is bounded. In each bucket the least recently used claim is evicted first.
 */
public final class BlockIndex {
  /** The result of {@link #holder} if there is no further worker. */
  public static final int NOBODY = -1;

  /** Maximum number of holders stored individually; more become a bitmap. */
  private static final int FEW = 4;

  /** Divisor of the total bytes that gives the share for holder bitmaps. */
  static final int BITMAP_SHARE = 8;

  static final long LEAST_BYTES = 64 * 1024;

  /** The unit of age is 2^26 ns, 67 ms; ages are distinguishable up to four years. */
  static final int STAMP_SHIFT = 26;

  /** Minimum age of a claim before it is renewed, in units of age; about one second. */
  static final int RENEWAL = 15;

  private final long maxBytes;
  private final SlotEpochs epochs;
  private final ClaimTable table;
  private final HolderBitmaps bitmaps;

  /**
   * @param maxBytes maximum memory in bytes; at least 64 KiB
   * @param slots number of worker slots, 1 to 65,536; higher slots have no claims
   */
  public BlockIndex(long maxBytes, int slots) {
    this(checked(maxBytes), maxBytes / BITMAP_SHARE, new SlotEpochs(slots), LargePages.NONE);
  }

  static long checked(long maxBytes) {
    if (maxBytes < LEAST_BYTES) {
      throw new IllegalArgumentException(
          "maxBytes: " + maxBytes + " (expected: >= " + LEAST_BYTES + ")");
    }
    return maxBytes;
  }

  /**
   * @param bitmapBytes the part of {@code maxBytes} for holder bitmaps
   */
  BlockIndex(long maxBytes, long bitmapBytes, SlotEpochs epochs, LargePages largePages) {
    this.maxBytes = maxBytes;
    this.epochs = epochs;
    bitmaps = new HolderBitmaps(bitmapBytes, epochs.slots());
    table = new ClaimTable(maxBytes - bitmapBytes, epochs, largePages);
  }

  /** Returns true if any worker holds the block. */
  public boolean contains(long hash) {
    long found = table.find(hash, 0);
    while (found != -1) {
      int claim = ClaimTable.claimOf(found);
      if (HolderBitmaps.isReference(claim)) {
        HolderBitmap bitmap = bitmaps.find(claim, hash);
        if (bitmap != null && !bitmap.isEmpty()) {
          return true;
        }
      } else if (epochs.present(claim)) {
        return true;
      }
      found = table.find(hash, next(found));
    }
    return false;
  }

  /**
   * Iterates over the few workers that hold a block: start with cursor 0 and continue with {@link
   * #after}. A worker may occur twice.
   *
   * @return {@link #NOBODY} at the end, else an encoded result for {@link #slotOf} and {@link
   *     #after}
   */
  public int holder(long hash, int cursor) {
    long found = table.find(hash, cursor);
    while (found != -1) {
      int claim = ClaimTable.claimOf(found);
      if (!HolderBitmaps.isReference(claim) && epochs.present(claim)) {
        return ClaimTable.wayOf(found) << 16 | SlotEpochs.slotOf(claim);
      }
      found = table.find(hash, next(found));
    }
    return NOBODY;
  }

  /** The worker slot in a result of {@link #holder}. */
  public static int slotOf(int holder) {
    return holder & 0xFFFF;
  }

  /** The cursor after a result of {@link #holder}. */
  public static int after(int holder) {
    return (holder >>> 16) + 1;
  }

  /** Returns the bitmap of workers that hold a block; null if they are few. */
  public @Nullable HolderBitmap holderBitmap(long hash) {
    long found = table.find(hash, 0);
    while (found != -1) {
      int claim = ClaimTable.claimOf(found);
      if (HolderBitmaps.isReference(claim)) {
        return bitmaps.find(claim, hash);
      }
      found = table.find(hash, next(found));
    }
    return null;
  }

  /** The holders of one block, filled by {@link #look}. For one thread; reusable. */
  public static final class Holders {
    private final int[] claims = new int[ClaimTable.WAYS];
    private int few;
    private @Nullable HolderBitmap bitmap;

    /** Stores a single holder. */
    void alone(int claim) {
      claims[0] = claim;
      few = 1;
      bitmap = null;
    }

    /** The holder bitmap; null if they are few. */
    public @Nullable HolderBitmap holderBitmap() {
      return bitmap;
    }

    /** The number of holders; duplicates count twice. */
    public int size() {
      return bitmap == null ? few : bitmap.size();
    }

    /** The slot of one of the few holders; {@code i} is below {@link #size}. */
    public int slot(int i) {
      return SlotEpochs.slotOf(claims[i]);
    }
  }

  /** Fills {@code holders} with the holders of a block in one scan of the table. */
  public void look(long hash, Holders holders) {
    int count = table.claims(hash, holders.claims);
    holders.few = 0;
    holders.bitmap = null;
    for (int i = 0; i < count; i++) {
      int claim = holders.claims[i];
      if (HolderBitmaps.isReference(claim)) {
        HolderBitmap bitmap = bitmaps.find(claim, hash);
        if (bitmap != null) {
          holders.bitmap = bitmap;
          return;
        }
      } else if (epochs.present(claim)) {
        holders.claims[holders.few++] = claim;
      }
    }
  }

  /** Returns the number of holders of a block; duplicates count twice. */
  public int holders(long hash) {
    HolderBitmap bitmap = holderBitmap(hash);
    if (bitmap != null) {
      return bitmap.size();
    }
    int holders = 0;
    for (int found = holder(hash, 0); found != NOBODY; found = holder(hash, after(found))) {
      holders++;
    }
    return holders;
  }

  /** Returns true if the worker in {@code slot} holds the block. */
  public boolean holds(long hash, int slot) {
    for (long found = table.find(hash, 0); found != -1; found = table.find(hash, next(found))) {
      int claim = ClaimTable.claimOf(found);
      if (HolderBitmaps.isReference(claim)) {
        HolderBitmap bitmap = bitmaps.find(claim, hash);
        return bitmap != null && bitmap.holds(slot);
      }
      if (SlotEpochs.slotOf(claim) == slot && epochs.present(claim)) {
        return true;
      }
    }
    return false;
  }

  /** Adds a block for a worker; {@code epoch} and {@code now} as in {@link PrefixIndex#add}. */
  public void claim(long hash, int epoch, long now) {
    PrefixTally tally = new PrefixTally();
    put(hash, epoch, (int) (now >>> STAMP_SHIFT), tally);
    counted(tally);
  }

  /**
   * Adds a block for a worker; the caller counts the result by {@link #counted}.
   *
   * @param stamp time in units of age
   */
  void put(long hash, int epoch, int stamp, PrefixTally tally) {
    int became = put(hash, epoch, stamp);
    tally.added += became == ClaimTable.ADDED ? 1 : 0;
    tally.replaced += became == ClaimTable.REPLACED ? 1 : 0;
  }

  void counted(PrefixTally tally) {
    table.counted(tally.added, tally.replaced);
  }

  /** Removes a worker's claim on a block that it has evicted. */
  public void remove(long hash, int epoch) {
    int found = table.clear(hash, epoch);
    int reference = found & ~ClaimTable.CLEARED;
    if (reference != 0 && epochs.present(epoch)) {
      bitmaps.remove(reference, hash, SlotEpochs.slotOf(epoch));
    }
    table.counted(-(found >>> 16), 0);
  }

  /** The current epoch of a slot, for {@link #claim}; changed by {@link #forget}. */
  public int epoch(int slot) {
    return epochs.of(slot);
  }

  /**
   * Returns true if a block was added or renewed for a worker at {@code then} or later, with a
   * resolution of one second.
   */
  public boolean addedSince(long hash, int epoch, long then) {
    return fresh(hash, epoch, (int) (then >>> STAMP_SHIFT) - RENEWAL);
  }

  boolean fresh(long hash, int epoch, int oldest) {
    HolderBitmap bitmap = holderBitmap(hash);
    return bitmap == null
        ? table.usedSince(hash, epoch, oldest)
        : bitmap.holds(SlotEpochs.slotOf(epoch)) && bitmap.stamp() - oldest >= 0;
  }

  private int put(long hash, int epoch, int stamp) {
    int became = table.putAlone(hash, epoch, stamp);
    return became == ClaimTable.SHARED ? putShared(hash, epoch, stamp) : became;
  }

  private int putShared(long hash, int epoch, int stamp) {
    int others = 0;
    int last = 0;
    for (long found = table.find(hash, 0); found != -1; found = table.find(hash, next(found))) {
      int claim = ClaimTable.claimOf(found);
      HolderBitmap bitmap = bitmaps.findToWrite(claim, hash);
      if (bitmap != null) {
        join(claim, bitmap, epoch, stamp);
        return table.put(hash, claim, stamp);
      }
      if (HolderBitmaps.isReference(claim) || !epochs.present(claim)) {
        drop(hash, claim);
      } else {
        others++;
        last = claim;
      }
    }
    if (others < FEW) {
      return table.put(hash, epoch, stamp);
    }
    int reference = gather(hash, epoch, stamp);
    if (reference == 0) {
      drop(hash, last);
    }
    return table.put(hash, reference == 0 ? epoch : reference, stamp);
  }

  private void drop(long hash, int claim) {
    table.counted(-(table.clear(hash, claim) >>> 16), 0);
  }

  private void join(int reference, HolderBitmap bitmap, int epoch, int stamp) {
    int slot = SlotEpochs.slotOf(epoch);
    HolderBitmap wide = bitmap.covers(slot) ? bitmap : widen(reference, bitmap, slot);
    if (wide != null && epochs.present(epoch)) {
      wide.add(slot, stamp);
      if (!epochs.present(epoch)) {
        bitmaps.remove(reference, wide.hash(), slot);
      }
    }
  }

  /**
   * Widens a holder bitmap. Returns null, without a change, if a worker left meanwhile or another
   * thread was first.
   */
  private @Nullable HolderBitmap widen(int reference, HolderBitmap bitmap, int slot) {
    if (!bitmap.trusted()) {
      return null;
    }
    int departures = epochs.departures();
    HolderBitmap wide = bitmap.widened(slot);
    if (!SlotEpochs.quiet(departures) || !bitmaps.replace(reference, bitmap, wide)) {
      return null;
    }
    wide.keepOnly(bitmap);
    return ifNobodyLeft(wide, departures);
  }

  /**
   * Creates a holder bitmap from a block's holders and one more.
   *
   * @return its reference, which replaces their claims; 0 if there is no room
   */
  private int gather(long hash, int epoch, int stamp) {
    int departures = epochs.departures();
    int widest = SlotEpochs.slotOf(epoch);
    for (int h = holder(hash, 0); h != NOBODY; h = holder(hash, after(h))) {
      widest = Math.max(widest, slotOf(h));
    }
    HolderBitmap bitmap = HolderBitmap.of(hash, widest, stamp);
    for (int h = holder(hash, 0); h != NOBODY; h = holder(hash, after(h))) {
      if (bitmap.covers(slotOf(h))) {
        bitmap.add(slotOf(h), stamp);
      }
    }
    int reference = SlotEpochs.quiet(departures) ? bitmaps.open(bitmap, stamp) : 0;
    if (reference == 0) {
      return 0;
    }
    join(reference, ifNobodyLeft(bitmap, departures), epoch, stamp);
    for (long found = table.find(hash, 0); found != -1; found = table.find(hash, next(found))) {
      drop(hash, ClaimTable.claimOf(found));
    }
    return reference;
  }

  /**
   * Clears a holder bitmap if a worker left while it was copied and published, because it may
   * contain that worker's bit. Nobody has read it yet. Later departures are removed by the sweep,
   * which finds it.
   */
  private HolderBitmap ifNobodyLeft(HolderBitmap bitmap, int departures) {
    if (epochs.departures() != departures) {
      bitmap.clear();
    }
    bitmap.trust();
    return bitmap;
  }

  private static int next(long found) {
    return ClaimTable.wayOf(found) + 1;
  }

  /**
   * Removes all claims of the worker in {@code slot}, so the slot can be reused. Readers are not
   * blocked. The time depends only on the number of holder bitmaps.
   */
  public synchronized void forget(int slot) {
    epochs.end(slot, () -> bitmaps.remove(slot));
  }

  /** Number of claims, including those of departed workers until they are overwritten. */
  public long entries() {
    return table.entries();
  }

  /** Returns true if claims have been evicted, so an added block may be missing. */
  public boolean evicting() {
    return table.evicting();
  }

  /** Number of claims evicted to stay within the memory bound. */
  public long evictions() {
    return table.evictions();
  }

  /** Current memory in bytes. */
  public long bytes() {
    return table.bytes() + bitmaps.bytes() + (long) epochs.slots() * Integer.BYTES;
  }

  /** Maximum memory in bytes. */
  public long maxBytes() {
    return maxBytes;
  }
}
