package io.pointsman.engine.prefix;

import io.pointsman.engine.env.LargePages;
import org.jspecify.annotations.Nullable;

/**
 * Which workers are thought to hold which blocks, each block found by its own hash, whatever it
 * stands for.
 *
 * <p>Safe for any number of threads. Nothing ever waits: reads are lock-free, writes too. Writes
 * that collide may be lost, never mixed up: a worker is found only for a block that was added for
 * it and not forgotten since.
 *
 * <p>Bounded in bytes by construction. What was used least lately, by bucket, makes room.
 */
public final class BlockIndex {
  /** What {@link #holder} answers when there is none. */
  public static final int NOBODY = -1;

  /** More holders of one block than this become a crowd. */
  private static final int FEW = 4;

  /** One part in so many of all bytes is for crowds. */
  static final int CROWD_SHARE = 8;

  static final long LEAST_BYTES = 64 * 1024;

  /** A unit of age is 2^26 ns, 67 ms; ages are told apart up to four years. */
  static final int STAMP_SHIFT = 26;

  /** A claim is renewed at most once in so many units of age, about a second. */
  static final int RENEWAL = 15;

  private final long maxBytes;
  private final Tenancies tenancies;
  private final ClaimTable table;
  private final Crowds crowds;

  /**
   * @param maxBytes most bytes it may ever take; at least 64 KiB
   * @param slots worker slots, 1 to 65,536; slots above have no claims
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
   * @param crowdBytes how many of all bytes are for crowds
   */
  BlockIndex(long maxBytes, long crowdBytes, Tenancies tenancies, LargePages largePages) {
    this.maxBytes = maxBytes;
    this.tenancies = tenancies;
    crowds = new Crowds(crowdBytes, tenancies.slots());
    table = new ClaimTable(maxBytes - crowdBytes, tenancies, largePages);
  }

  /** Whether any worker holds a block. */
  public boolean held(long hash) {
    long found = table.find(hash, 0);
    while (found != -1) {
      int claim = ClaimTable.claimOf(found);
      if (Crowds.isReference(claim)) {
        Crowd crowd = crowds.find(claim, hash);
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
   * The few workers that hold a block, one at a time: start with cursor 0, go on with {@link
   * #after}. A worker may come twice.
   *
   * @return {@link #NOBODY} at the end, else what {@link #slotOf} and {@link #after} understand
   */
  public int holder(long hash, int cursor) {
    long found = table.find(hash, cursor);
    while (found != -1) {
      int claim = ClaimTable.claimOf(found);
      if (!Crowds.isReference(claim) && tenancies.present(claim)) {
        return ClaimTable.wayOf(found) << 16 | Tenancies.slotOf(claim);
      }
      found = table.find(hash, next(found));
    }
    return NOBODY;
  }

  /** The slot of the worker that {@link #holder} has found. */
  public static int slotOf(int holder) {
    return holder & 0xFFFF;
  }

  /** The cursor behind what {@link #holder} has found. */
  public static int after(int holder) {
    return (holder >>> 16) + 1;
  }

  /** The workers that hold a block when they are many; null when they are few. */
  public @Nullable Crowd crowd(long hash) {
    long found = table.find(hash, 0);
    while (found != -1) {
      int claim = ClaimTable.claimOf(found);
      if (Crowds.isReference(claim)) {
        return crowds.find(claim, hash);
      }
      found = table.find(hash, next(found));
    }
    return null;
  }

  /** Who holds a block, as {@link #look} has found it. For one thread, to be filled again. */
  public static final class Holders {
    private final int[] claims = new int[ClaimTable.WAYS];
    private int few;
    private @Nullable Crowd crowd;

    /** There is but one. */
    void alone(int claim) {
      claims[0] = claim;
      few = 1;
      crowd = null;
    }

    /** The many workers that hold it; null when they are few. */
    public @Nullable Crowd crowd() {
      return crowd;
    }

    /** How many they are, those that come twice counted twice. */
    public int size() {
      return crowd == null ? few : crowd.size();
    }

    /** The slot of one of the few: {@code i} is below {@link #size}. */
    public int slot(int i) {
      return Tenancies.slotOf(claims[i]);
    }
  }

  /** Fills {@code holders} with those of a block: one look at the table for all of them. */
  public void look(long hash, Holders holders) {
    int count = table.claims(hash, holders.claims);
    holders.few = 0;
    holders.crowd = null;
    for (int i = 0; i < count; i++) {
      int claim = holders.claims[i];
      if (Crowds.isReference(claim)) {
        Crowd crowd = crowds.find(claim, hash);
        if (crowd != null) {
          holders.crowd = crowd;
          return;
        }
      } else if (tenancies.present(claim)) {
        holders.claims[holders.few++] = claim;
      }
    }
  }

  /** How many workers hold a block, those that come twice counted twice. */
  public int holders(long hash) {
    Crowd crowd = crowd(hash);
    if (crowd != null) {
      return crowd.size();
    }
    int holders = 0;
    for (int found = holder(hash, 0); found != NOBODY; found = holder(hash, after(found))) {
      holders++;
    }
    return holders;
  }

  /** Whether the worker in {@code slot} holds a block. */
  public boolean holds(long hash, int slot) {
    for (long found = table.find(hash, 0); found != -1; found = table.find(hash, next(found))) {
      int claim = ClaimTable.claimOf(found);
      if (Crowds.isReference(claim)) {
        Crowd crowd = crowds.find(claim, hash);
        return crowd != null && crowd.holds(slot);
      }
      if (Tenancies.slotOf(claim) == slot && tenancies.present(claim)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Adds one block for a worker, whatever it stands for; {@code tenancy} and {@code now} as in
   * {@link PrefixIndex#add}.
   */
  public void claim(long hash, int tenancy, long now) {
    Tally tally = new Tally();
    put(hash, tenancy, (int) (now >>> STAMP_SHIFT), tally);
    counted(tally);
  }

  /**
   * The same without counting.
   *
   * @param stamp time in units of age
   */
  void put(long hash, int tenancy, int stamp, Tally tally) {
    int became = put(hash, tenancy, stamp);
    tally.added += became == ClaimTable.ADDED ? 1 : 0;
    tally.replaced += became == ClaimTable.REPLACED ? 1 : 0;
  }

  void counted(Tally tally) {
    table.counted(tally.added, tally.replaced);
  }

  /** Forgets that a worker holds a block, because it has evicted it. */
  public void remove(long hash, int tenancy) {
    int found = table.clear(hash, tenancy);
    int reference = found & ~ClaimTable.CLEARED;
    if (reference != 0 && tenancies.present(tenancy)) {
      crowds.remove(reference, hash, Tenancies.slotOf(tenancy));
    }
    table.counted(-(found >>> 16), 0);
  }

  /** The present tenancy of a slot, which {@link #claim} asks for; changed by {@link #forget}. */
  public int tenancy(int slot) {
    return tenancies.of(slot);
  }

  /** Whether a block was added or renewed for a worker at {@code then} or later, to a second. */
  public boolean addedSince(long hash, int tenancy, long then) {
    return fresh(hash, tenancy, (int) (then >>> STAMP_SHIFT) - RENEWAL);
  }

  boolean fresh(long hash, int tenancy, int oldest) {
    Crowd crowd = crowd(hash);
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
      Crowd crowd = crowds.findToWrite(claim, hash);
      if (crowd != null) {
        join(claim, crowd, tenancy, stamp);
        return table.put(hash, claim, stamp);
      }
      if (Crowds.isReference(claim) || !tenancies.present(claim)) {
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

  private void join(int reference, Crowd crowd, int tenancy, int stamp) {
    int slot = Tenancies.slotOf(tenancy);
    Crowd wide = crowd.covers(slot) ? crowd : widen(reference, crowd, slot);
    if (wide != null && tenancies.present(tenancy)) {
      wide.add(slot, stamp);
      if (!tenancies.present(tenancy)) {
        crowds.remove(reference, wide.hash(), slot);
      }
    }
  }

  /** Null if a worker left meanwhile or another thread was first; then nothing is changed. */
  private @Nullable Crowd widen(int reference, Crowd crowd, int slot) {
    if (!crowd.trusted()) {
      return null;
    }
    int departures = tenancies.departures();
    Crowd wide = crowd.widened(slot);
    if (!Tenancies.quiet(departures) || !crowds.replace(reference, crowd, wide)) {
      return null;
    }
    wide.keepOnly(crowd);
    return ifNobodyLeft(wide, departures);
  }

  /**
   * Makes a crowd of a block's holders and one more.
   *
   * @return its reference, to be put in their place; 0 if there is no room for one
   */
  private int gather(long hash, int tenancy, int stamp) {
    int departures = tenancies.departures();
    int widest = Tenancies.slotOf(tenancy);
    for (int h = holder(hash, 0); h != NOBODY; h = holder(hash, after(h))) {
      widest = Math.max(widest, slotOf(h));
    }
    Crowd crowd = Crowd.of(hash, widest, stamp);
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
   * A crowd that was copied and published while a worker left may have that worker's bit; it is
   * emptied before anybody reads it. Of whoever leaves later it is swept, for it can be found.
   */
  private Crowd ifNobodyLeft(Crowd crowd, int departures) {
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
   * Forgets all that was added for the worker in {@code slot}, so that the slot can be given to
   * another. Readers are not held up; takes time only by the number of crowds.
   */
  public synchronized void forget(int slot) {
    tenancies.end(slot, () -> crowds.remove(slot));
  }

  /** Claims in use, those of workers that have left included until their place is taken. */
  public long entries() {
    return table.entries();
  }

  /** Whether claims have been replaced, so that a block may be missing that was added. */
  public boolean evicting() {
    return table.evicting();
  }

  /** Claims replaced so far to stay within the bound. */
  public long evictions() {
    return table.evictions();
  }

  /** Bytes taken at present. */
  public long bytes() {
    return table.bytes() + crowds.bytes() + (long) tenancies.slots() * Integer.BYTES;
  }

  /** Most bytes it may ever take. */
  public long maxBytes() {
    return maxBytes;
  }
}
