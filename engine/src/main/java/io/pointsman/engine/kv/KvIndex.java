package io.pointsman.engine.kv;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * What all workers have announced of their caches: which blocks each of them, or each rank of them,
 * holds on which tier, under the hashes that routing keys of token ids have. Lookups take no lock;
 * announcements of one source take its own.
 *
 * <p>Bounded in bytes by construction, over all workers together: half is for what sources hold,
 * half for finding holders. When the first is used up, blocks are not taken in ({@link #refused}),
 * when the second is, those claimed least lately are forgotten: then a prompt matches less than it
 * could, never more.
 */
public final class KvIndex implements KvFeed {
  private static final int NODE_SHARE = 2;

  /** Ranks of workers beyond the first, all together. */
  private static final int MORE_RANKS = 4096;

  private static final int MOST_SLOTS = 1 << 16;
  private static final KvSource[] NO_SOURCES = {};

  private final long maxBytes;
  private final int maxWorkers;
  private final Ticker ticker;
  private final BlockIndex index;
  private final Adapters adapters = new Adapters();
  private final AtomicLong bytesLeft;
  private final AtomicLongArray blocksByTier = new AtomicLongArray(KvTier.values().length);

  private final AtomicLong allClears = new AtomicLong();

  /** A worker's sources by its slot, in the order of its ranks. */
  private final AtomicReferenceArray<KvSource @Nullable []> byWorker;

  private final AtomicReferenceArray<@Nullable Worker> owners;

  /** Slots of the index that belong to further ranks; guarded by this, as are all changes above. */
  private final BitSet furtherTaken = new BitSet();

  private final int furtherSlots;
  private final KvTally tally = new KvTally();
  private final PendingPrompts pending;

  /**
   * @param maxBytes most bytes it may ever take; at least 1 MiB
   * @param maxWorkers as in {@code FleetSettings}
   */
  public KvIndex(long maxBytes, int maxWorkers, Ticker ticker) {
    if (maxBytes < 1 << 20) {
      throw new IllegalArgumentException("maxBytes: " + maxBytes + " (expected: >= 1048576)");
    }
    this.maxBytes = maxBytes;
    this.maxWorkers = maxWorkers;
    this.ticker = ticker;
    long nodeBytes = maxBytes / NODE_SHARE;
    bytesLeft = new AtomicLong(nodeBytes);
    int slots = Math.min(MOST_SLOTS, maxWorkers + MORE_RANKS);
    furtherSlots = slots - maxWorkers;
    index = new BlockIndex(maxBytes - nodeBytes, slots);
    byWorker = new AtomicReferenceArray<>(maxWorkers);
    owners = new AtomicReferenceArray<>(maxWorkers);
    pending = new PendingPrompts(maxWorkers);
  }

  @Override
  public void apply(Worker worker, int rank, Iterable<? extends KvEvent> events) {
    KvSource source = source(worker, rank);
    if (source != null) {
      int before = source.clears();
      long now = ticker.nanos();
      // An idle engine that was emptied announces it with its next step, for the next requests.
      source.apply(events, adapters, now, pending.goneUntil(worker.slot(), now));
      if (source.clears() != before) {
        allClears.incrementAndGet();
      }
    }
  }

  @Override
  public void reset(Worker worker, int rank, Cause cause) {
    KvSource source = source(worker, rank);
    if (source != null) {
      switch (cause) {
        case MISSED -> source.reset(ticker.nanos());
        case GONE -> source.gone(ticker.nanos());
      }
    }
  }

  @Override
  public void restarted(Worker worker, int rank, long lostUntil) {
    KvSource source = source(worker, rank);
    if (source != null) {
      source.restarted(lostUntil);
      allClears.incrementAndGet();
    }
  }

  @Override
  public void live(Worker worker, int rank, boolean live) {
    KvSource source = source(worker, rank);
    if (source != null) {
      source.live(live);
    }
  }

  /** Null if the worker has left, or if there are too many ranks. */
  private synchronized @Nullable KvSource source(Worker worker, int rank) {
    int slot = worker.slot();
    if (worker.left() || rank < 0 || slot >= maxWorkers) {
      return null;
    }
    Worker owner = owners.get(slot);
    if (owner != worker) {
      if (owner != null) {
        drop(slot);
      }
      owners.set(slot, worker);
    }
    KvSource[] sources = sources(slot);
    for (KvSource source : sources) {
      if (source.rank() == rank) {
        return source;
      }
    }
    return add(slot, rank, sources);
  }

  private @Nullable KvSource add(int slot, int rank, KvSource[] sources) {
    int own = slot;
    if (sources.length > 0) {
      int further = furtherTaken.nextClearBit(0);
      if (further >= furtherSlots) {
        return null;
      }
      furtherTaken.set(further);
      own = maxWorkers + further;
    }
    KvSource source = new KvSource(rank, index, own, bytesLeft, blocksByTier, ticker.nanos());
    KvSource[] more = Arrays.copyOf(sources, sources.length + 1);
    more[sources.length] = source;
    byWorker.setRelease(slot, more);
    return source;
  }

  /** Forgets a worker that has left. */
  public synchronized void forget(Worker worker) {
    int slot = worker.slot();
    if (slot < maxWorkers && owners.get(slot) == worker) {
      owners.set(slot, null);
      drop(slot);
    }
  }

  private void drop(int slot) {
    KvSource[] sources = sources(slot);
    byWorker.setRelease(slot, null);
    for (KvSource source : sources) {
      source.close();
      if (source.slot() >= maxWorkers) {
        furtherTaken.clear(source.slot() - maxWorkers);
      }
    }
  }

  KvSource[] sources(int workerSlot) {
    KvSource[] sources = workerSlot < maxWorkers ? byWorker.getAcquire(workerSlot) : null;
    return sources == null ? NO_SOURCES : sources;
  }

  BlockIndex index() {
    return index;
  }

  /** Slots of the index below this are those of workers. */
  int maxWorkers() {
    return maxWorkers;
  }

  /** Blocks on a tier, over all workers. */
  long blocks(int tier) {
    return blocksByTier.get(tier);
  }

  /** Whether the worker in a slot announces what it holds, completely, for each of its ranks. */
  public boolean live(int workerSlot) {
    boolean any = false;
    for (KvSource source : sources(workerSlot)) {
      if (source.followed()) {
        if (!source.live()) {
          return false;
        }
        any = true;
      }
    }
    return any;
  }

  /**
   * Whether what a prompt does not match on the worker in a slot is not held there. It is not so of
   * a worker that is not {@link #live}, nor of one that announces blocks which no prompt can match,
   * and only such: those of sliding windows, or of tokens in pairs.
   */
  public boolean comparable(int workerSlot) {
    if (!live(workerSlot)) {
      return false;
    }
    for (KvSource source : sources(workerSlot)) {
      if (source.live() && !source.comparable()) {
        return false;
      }
    }
    return true;
  }

  /**
   * The engine of the worker in a slot has found more of a prompt than it announced: what is placed
   * there until {@code until} may be held without being known.
   */
  public void doubted(int workerSlot, long until) {
    for (KvSource source : sources(workerSlot)) {
      source.doubted(until);
    }
  }

  /**
   * Since when all that the worker in a slot announced was heard, by the ticker: what was placed on
   * it earlier may be held without being known.
   */
  public long knownSince(int workerSlot, long now) {
    KvSource[] sources = sources(workerSlot);
    long since = now;
    for (int i = 0; i < sources.length; i++) {
      long its = sources[i].knownSince();
      since = i == 0 || its - since > 0 ? its : since;
    }
    return since;
  }

  /** How often the worker in a slot has said that its cache is empty, or has started anew. */
  public int clears(int workerSlot) {
    int clears = 0;
    for (KvSource source : sources(workerSlot)) {
      clears += source.clears();
    }
    return clears;
  }

  /**
   * Until when, by the ticker, what was placed on the worker in a slot was gone as of the last of
   * its {@link #clears}.
   *
   * @param now the answer if there was none
   */
  public long emptyUntil(int workerSlot, long now) {
    long until = now;
    boolean any = false;
    for (KvSource source : sources(workerSlot)) {
      if (source.clears() > 0) {
        long its = source.emptyUntil();
        until = !any || its - until > 0 ? its : until;
        any = true;
      }
    }
    return until;
  }

  /** Changes when {@link #clears} of any worker has changed. */
  public long allClears() {
    return allClears.get();
  }

  /**
   * Tokens that a worker's device memory holds, as far as its announcements tell: more than assumed
   * once more was announced at once, less once what leaves says that no more is there.
   *
   * @param assumed what it is taken to hold without announcements; of all its ranks together
   */
  public long capacityTokens(Worker worker, long assumed) {
    KvSource[] sources = sourcesOf(worker);
    if (sources.length == 0) {
      return assumed;
    }
    long tokens = 0;
    for (KvSource source : sources) {
      tokens += source.capacityTokens(assumed / sources.length);
    }
    return tokens;
  }

  /** Tokens on a worker's device memory, as announced. */
  public long deviceTokens(Worker worker) {
    long tokens = 0;
    for (KvSource source : sourcesOf(worker)) {
      tokens += source.deviceTokens();
    }
    return tokens;
  }

  /** Those of a worker, or of the one that it is a copy of. */
  private KvSource[] sourcesOf(Worker worker) {
    int slot = worker.slot();
    Worker owner = slot < maxWorkers ? owners.getAcquire(slot) : null;
    return owner != null && owner.id().equals(worker.id()) ? sources(slot) : NO_SOURCES;
  }

  /**
   * Who holds how much of a prompt.
   *
   * @param tokens its routing key, in blocks of token ids
   * @param model the model asked for: it may be an adapter's name
   */
  public KvHits hits(PrefixBlocks tokens, @Nullable String model) {
    boolean comparable = tokens.tokenIds() && tokens.blockLength() == TokenIds.PER_BLOCK;
    return comparable ? KvHits.of(this, tokens, adapters.asked(model)) : KvHits.NONE;
  }

  /**
   * Whether announcements can tell who holds blocks of {@code model}: not of an adapter, by what
   * workers say of their models, that none has named while others were.
   */
  boolean tells(String model) {
    if (adapters.tells(model)) {
      return true;
    }
    for (int slot = 0; slot < maxWorkers; slot++) {
      Worker worker = owners.getAcquire(slot);
      if (worker != null && worker.models().contains(model)) {
        return worker.bases().contains(model);
      }
    }
    return true;
  }

  /** What waits to be computed, and so to be announced; policies keep it up. */
  public PendingPrompts pending() {
    return pending;
  }

  /** What lookups came to. */
  public KvTally tally() {
    return tally;
  }

  /** Blocks that were not taken in because there was no memory for them. */
  public long refused() {
    long refused = 0;
    for (int slot = 0; slot < maxWorkers; slot++) {
      for (KvSource source : sources(slot)) {
        refused += source.refused();
      }
    }
    return refused;
  }

  /** Workers that announce completely at present. */
  public int liveWorkers() {
    int live = 0;
    for (int slot = 0; slot < maxWorkers; slot++) {
      live += live(slot) ? 1 : 0;
    }
    return live;
  }

  /** Blocks that prompts can match, those on several workers or tiers counted for each. */
  public long blocks() {
    long blocks = 0;
    for (int tier = 0; tier < blocksByTier.length(); tier++) {
      blocks += blocksByTier.get(tier);
    }
    return blocks;
  }

  /** Bytes taken at present. */
  public long bytes() {
    return maxBytes / NODE_SHARE - bytesLeft.get() + index.bytes();
  }

  /** Most bytes it may ever take. */
  public long maxBytes() {
    return maxBytes;
  }
}
