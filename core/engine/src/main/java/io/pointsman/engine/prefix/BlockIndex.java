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

  /** Maximum number of holders stored individually; more become a crowd. */
  private static final int FEW = 4;

  /** Divisor of the total bytes that gives the share for crowds. */
  static final int CROWD_SHARE = 8;

  static final long LEAST_BYTES = 64 * 1024;

  /** The unit of age is 2^26 ns, 67 ms; ages are distinguishable up to four years. */
  static final int STAMP_SHIFT = 26;

  /** Minimum age of a claim before it is renewed, in units of age; about one second. */
  static final int RENEWAL = 15;

  private final long maxBytes;
  private final Tenancies tenancies;
  private final ClaimTable table;
  private final HolderBitmaps crowds;

  /**
   * @param maxBytes maximum memory in bytes; at least 64 KiB
   * @param slots number of worker slots, 1 to 65,536; higher slots have no claims
   */
  public BlockIndex(long maxBytes, int slots) {
    this(checked(maxBytes), maxBytes / CROWD_SHARE, new Tenancies(slots), LargePages.NONE);
  }

  static long checked(long maxBytes) {
    if (maxBytes < LEAST_BYTES) {
      throw new IllegalArgumentException(
          "maxBytes: " + maxBytes + " (expected: >= " + LEAST_BYTES + ")");
    }
    return maxBytes;
  }

  /**
   * @param crowdBytes the part of {@code maxBytes} for crowds
   */
  BlockIndex(long maxBytes, long crowdBytes, Tenancies tenancies, LargePages largePages) {
    this.maxBytes = maxBytes;
    this.tenancies = tenancies;
    crowds = new HolderBitmaps(crowdBytes, tenancies.slots());
    table = new ClaimTable(maxBytes - crowdBytes, tenancies, largePages);
  }

  /** Returns true if any worker holds the block. */
  public boolean held(long hash) {
    long found = table.find(hash, 0);
    while (found != -1) {
      int claim = ClaimTable.claimOf(found);
      if (HolderBitmaps.isReference(claim)) {
        HolderBitmap crowd = crowds.find(claim, hash);
        if (crowd != null && !crowd.isEmpty()) {
          return true;
        }
      } else if (tenancies.present(claim)) {
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
      if (!HolderBitmaps.isReference(claim) && tenancies.present(claim)) {
        return ClaimTable.wayOf(found) << 16 | Tenancies.slotOf(claim);
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

  /** Returns the crowd of workers that hold a block; null if they are few. */
  public @Nullable HolderBitmap crowd(long hash) {
    long found = table.find(hash, 0);
    while (found != -1) {
      int claim = ClaimTable.claimOf(found);
      if (HolderBitmaps.isReference(claim)) {
        return crowds.find(claim, hash);
      }
      found = table.find(hash, next(found));
    }
    return null;
  }

  /** The holders of one block, filled by {@link #look}. For one thread; reusable. */
  public static final class Holders {
    private final int[] claims = new int[ClaimTable.WAYS];
    private int few;
    private @Nullable HolderBitmap crowd;

    /** Stores a single holder. */
    void alone(int claim) {
      claims[0] = claim;
      few = 1;
      crowd = null;
    }

    /** The crowd of holders; null if they are few. */
    public @Nullable HolderBitmap crowd() {
      return crowd;
    }

    /** The number of holders; duplicates count twice. */
    public int size() {
      return crowd == null ? few : crowd.size();
    }

    /** The slot of one of the few holders; {@code i} is below {@link #size}. */
    public int slot(int i) {
      return Tenancies.slotOf(claims[i]);
    }
  }

  /** Fills {@code holders} with the holders of a block in one scan of the table. */
  public void look(long hash, Holders holders) {
    int count = table.claims(hash, holders.claims);
    holders.few = 0;
    holders.crowd = null;
    for (int i = 0; i < count; i++) {
      int claim = holders.claims[i];
      if (HolderBitmaps.isReference(claim)) {
        HolderBitmap crowd = crowds.find(claim, hash);
        if (crowd != null) {
          holders.crowd = crowd;
          return;
        }
      } else if (tenancies.present(claim)) {
        holders.claims[holders.few++] = claim;
      }
    }
  }

  /** Returns the number of holders of a block; duplicates count twice. */
  public int holders(long hash) {
    HolderBitmap crowd = crowd(hash);
    if (crowd != null) {
      return crowd.size();
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
        HolderBitmap crowd = crowds.find(claim, hash);
        return crowd != null && crowd.holds(slot);
      }
      if (Tenancies.slotOf(claim) == slot && tenancies.present(claim)) {
        return true;
      }
    }
    return false;
  }

  /** Adds a block for a worker; {@code tenancy} and {@code now} as in {@link PrefixIndex#add}. */
  public void claim(long hash, int tenancy, long now) {
    PrefixTally tally = new PrefixTally();
    put(hash, tenancy, (int) (now >>> STAMP_SHIFT), tally);
    counted(tally);
  }

  /**
   * Adds a block for a worker; the caller counts the result by {@link #counted}.
   *
   * @param stamp time in units of age
   */
  void put(long hash, int tenancy, int stamp, PrefixTally tally) {
    int became = put(hash, tenancy, stamp);
    tally.added += became == ClaimTable.ADDED ? 1 : 0;
    tally.replaced += became == ClaimTable.REPLACED ? 1 : 0;
  }

  void counted(PrefixTally tally) {
    table.counted(tally.added, tally.replaced);
  }

  /** Removes a worker's claim on a block that it has evicted. */
  public void remove(long hash, int tenancy) {
    int found = table.clear(hash, tenancy);
    int reference = found & ~ClaimTable.CLEARED;
    if (reference != 0 && tenancies.present(tenancy)) {
      crowds.remove(reference, hash, Tenancies.slotOf(tenancy));
    }
    table.counted(-(found >>> 16), 0);
  }

  /** The current tenancy of a slot, for {@link #claim}; changed by {@link #forget}. */
  public int tenancy(int slot) {
    return tenancies.of(slot);
  }

  /**
   * Returns true if a block was added or renewed for a worker at {@code then} or later, with a
   * resolution of one second.
   */
  public boolean addedSince(long hash, int tenancy, long then) {
    return fresh(hash, tenancy, (int) (then >>> STAMP_SHIFT) - RENEWAL);
  }

  boolean fresh(long hash, int tenancy, int oldest) {
    HolderBitmap crowd = crowd(hash);
    return crowd == null
        ? table.usedSince(hash, tenancy, oldest)
        : crowd.holds(Tenancies.slotOf(tenancy)) && crowd.stamp() - oldest >= 0;
  }

  private int put(long hash, int tenancy, int stamp) {
    int became = table.putAlone(hash, tenancy, stamp);
    return became == ClaimTable.SHARED ? putShared(hash, tenancy, stamp) : became;
  }

  private int putShared(long hash, int tenancy, int stamp) {
    int others = 0;
    int last = 0;
    for (long found = table.find(hash, 0); found != -1; found = table.find(hash, next(found))) {
      int claim = ClaimTable.claimOf(found);
      HolderBitmap crowd = crowds.findToWrite(claim, hash);
      if (crowd != null) {
        join(claim, crowd, tenancy, stamp);
        return table.put(hash, claim, stamp);
      }
      if (HolderBitmaps.isReference(claim) || !tenancies.present(claim)) {
        drop(hash, claim);
      } else {
        others++;
        last = claim;
      }
    }
    if (others < FEW) {
      return table.put(hash, tenancy, stamp);
    }
    int reference = gather(hash, tenancy, stamp);
    if (reference == 0) {
      drop(hash, last);
    }
    return table.put(hash, reference == 0 ? tenancy : reference, stamp);
  }

  private void drop(long hash, int claim) {
    table.counted(-(table.clear(hash, claim) >>> 16), 0);
  }

  private void join(int reference, HolderBitmap crowd, int tenancy, int stamp) {
    int slot = Tenancies.slotOf(tenancy);
    HolderBitmap wide = crowd.covers(slot) ? crowd : widen(reference, crowd, slot);
    if (wide != null && tenancies.present(tenancy)) {
      wide.add(slot, stamp);
      if (!tenancies.present(tenancy)) {
        crowds.remove(reference, wide.hash(), slot);
      }
    }
  }

  /**
   * Widens a crowd. Returns null, without a change, if a worker left meanwhile or another thread
   * was first.
   */
  private @Nullable HolderBitmap widen(int reference, HolderBitmap crowd, int slot) {
    if (!crowd.trusted()) {
      return null;
    }
    int departures = tenancies.departures();
    HolderBitmap wide = crowd.widened(slot);
    if (!Tenancies.quiet(departures) || !crowds.replace(reference, crowd, wide)) {
      return null;
    }
    wide.keepOnly(crowd);
    return ifNobodyLeft(wide, departures);
  }

  /**
   * Creates a crowd from a block's holders and one more.
   *
   * @return its reference, which replaces their claims; 0 if there is no room
   */
  private int gather(long hash, int tenancy, int stamp) {
    int departures = tenancies.departures();
    int widest = Tenancies.slotOf(tenancy);
    for (int h = holder(hash, 0); h != NOBODY; h = holder(hash, after(h))) {
      widest = Math.max(widest, slotOf(h));
    }
    HolderBitmap crowd = HolderBitmap.of(hash, widest, stamp);
    for (int h = holder(hash, 0); h != NOBODY; h = holder(hash, after(h))) {
      if (crowd.covers(slotOf(h))) {
        crowd.add(slotOf(h), stamp);
      }
    }
    int reference = Tenancies.quiet(departures) ? crowds.open(crowd, stamp) : 0;
    if (reference == 0) {
      return 0;
    }
    join(reference, ifNobodyLeft(crowd, departures), tenancy, stamp);
    for (long found = table.find(hash, 0); found != -1; found = table.find(hash, next(found))) {
      drop(hash, ClaimTable.claimOf(found));
    }
    return reference;
  }

  /**
   * Clears a crowd if a worker left while it was copied and published, because it may contain that
   * worker's bit. Nobody has read it yet. Later departures are removed by the sweep, which finds
   * it.
   */
  private HolderBitmap ifNobodyLeft(HolderBitmap crowd, int departures) {
    if (tenancies.departures() != departures) {
      crowd.clear();
    }
    crowd.trust();
    return crowd;
  }

  private static int next(long found) {
    return ClaimTable.wayOf(found) + 1;
  }

  /**
   * Removes all claims of the worker in {@code slot}, so the slot can be reused. Readers are not
   * blocked. The time depends only on the number of crowds.
   */
  public synchronized void forget(int slot) {
    tenancies.end(slot, () -> crowds.remove(slot));
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
    return table.bytes() + crowds.bytes() + (long) tenancies.slots() * Integer.BYTES;
  }

  /** Maximum memory in bytes. */
  public long maxBytes() {
    return maxBytes;
  }
}
