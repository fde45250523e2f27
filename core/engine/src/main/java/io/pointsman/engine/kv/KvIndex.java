package io.pointsman.engine.kv;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The index of KV events: the blocks that each worker or rank holds on each tier. The keys are the
 * hashes of token-id routing keys. Lookups take no lock; events of one source take the source's
 * lock.
 *
 * <p>Memory is bounded over all workers. One half stores the sources' blocks, the other finds
 * holders. If the first half is full, new blocks are not recorded ({@link #refused}). If the second
 * is full, the oldest claims are dropped. A prompt then matches less than possible, never more. The
 * bound may change.
 */
public final class KvIndex implements KvFeed {
  private static final int NODE_SHARE = 2;

  /** Maximum number of additional ranks of all workers together. */
  private static final int MORE_RANKS = 4096;

  private static final int MOST_SLOTS = 1 << 16;
  private static final KvEventState[] NO_SOURCES = {};

  private volatile long maxBytes;
  private final int slots;
  private final Ticker ticker;
  private volatile BlockIndex index;
  private final Adapters adapters = new Adapters();
  private final AtomicLong bytesLeft;
  private final AtomicLongArray blocksByTier = new AtomicLongArray(KvTier.values().length);

  private final AtomicLong allClears = new AtomicLong();

  /** A worker's sources by its slot, in the order of their creation. */
  private final AtomicReferenceArray<KvEventState @Nullable []> byWorker;

  private final AtomicReferenceArray<@Nullable Worker> owners;

  /** Index slots of additional ranks; guarded by this, as are all changes of the fields above. */
  private final BitSet furtherTaken = new BitSet();

  private final int furtherSlots;
  private final KvTally tally = new KvTally();
  private final PendingPrompts pending;

  /**
   * @param maxBytes maximum memory in bytes; at least 1 MiB
   * @param slots number of slots of the fleet
   */
  public KvIndex(long maxBytes, int slots, Ticker ticker) {
    this.maxBytes = checked(maxBytes);
    this.slots = slots;
    this.ticker = ticker;
    bytesLeft = new AtomicLong(maxBytes / NODE_SHARE);
    furtherSlots = Math.min(MOST_SLOTS, slots + MORE_RANKS) - slots;
    index = indexOf(maxBytes);
    byWorker = new AtomicReferenceArray<>(slots);
    owners = new AtomicReferenceArray<>(slots);
    pending = new PendingPrompts(slots);
  }

  private static long checked(long maxBytes) {
    if (maxBytes < 1 << 20) {
      throw new IllegalArgumentException("maxBytes: " + maxBytes + " (expected: >= 1048576)");
    }
    return maxBytes;
  }

  private BlockIndex indexOf(long most) {
    return new BlockIndex(most - most / NODE_SHARE, slots + furtherSlots);
  }

  /**
   * Changes the bound. With a lower one, the largest sources lose blocks without successors until
   * the rest fits. Lookups read the index before until that of the new size has all blocks.
   *
   * @param next maximum memory in bytes; at least 1 MiB
   */
  public synchronized void resize(long next) {
    if (checked(next) == maxBytes) {
      return;
    }
    long now = ticker.nanos();
    // First, because there may be no memory for it. Nothing is changed then.
    BlockIndex fresh = indexOf(next);
    bytesLeft.addAndGet(next / NODE_SHARE - maxBytes / NODE_SHARE);
    maxBytes = next;
    List<KvEventState> all = new ArrayList<>();
    for (int slot = 0; slot < slots; slot++) {
      all.addAll(List.of(sources(slot)));
    }
    shrink(all, now);
    try {
      move(all, fresh, now);
    } finally {
      // Sources that have moved change only the new index.
      index = fresh;
    }
  }

  /** Moves all sources. If one has no memory for its claims, its prompts match less. */
  private static void move(List<KvEventState> all, BlockIndex fresh, long now) {
    OutOfMemoryError first = null;
    for (KvEventState each : all) {
      try {
        each.move(fresh, now);
      } catch (OutOfMemoryError e) {
        first = first == null ? e : first;
      }
    }
    if (first != null) {
      throw first;
    }
  }

  private void shrink(List<KvEventState> sources, long now) {
    PriorityQueue<Map.Entry<Long, KvEventState>> largest =
        new PriorityQueue<>((a, b) -> Long.compare(b.getKey(), a.getKey()));
    sources.forEach(source -> largest.add(Map.entry(source.bytes(), source)));
    while (bytesLeft.get() < 0 && !largest.isEmpty()) {
      KvEventState source = largest.remove().getValue();
      source.halve(now);
      if (source.bytes() > 0) {
        largest.add(Map.entry(source.bytes(), source));
      }
    }
  }

  @Override
  public void apply(Worker worker, int rank, Iterable<? extends KvEvent> events) {
    KvEventState source = source(worker, rank);
    if (source != null) {
      int before = source.clears();
      long now = ticker.nanos();
      // An idle engine announces that its cache was cleared only with its next step, for the next
      // requests.
      source.apply(events, adapters, now, pending.goneUntil(worker.slot(), now));
      if (source.clears() != before) {
        allClears.incrementAndGet();
      }
    }
  }

  @Override
  public void reset(Worker worker, int rank, Cause cause) {
    KvEventState source = source(worker, rank);
    if (source != null) {
      switch (cause) {
        case MISSED -> source.reset(ticker.nanos());
        case GONE -> source.gone(ticker.nanos());
      }
    }
  }

  @Override
  public void restarted(Worker worker, int rank, long lostUntil) {
    KvEventState source = source(worker, rank);
    if (source != null) {
      source.restarted(lostUntil);
      allClears.incrementAndGet();
    }
  }

  @Override
  public void live(Worker worker, int rank, boolean live) {
    KvEventState source = source(worker, rank);
    if (source != null) {
      source.live(live);
    }
  }

  /**
   * Returns the source of a worker's rank; null if the worker has left or there are too many ranks.
   */
  private synchronized @Nullable KvEventState source(Worker worker, int rank) {
    int slot = worker.slot();
    if (worker.left() || rank < 0 || slot >= slots) {
      return null;
    }
    Worker owner = owners.get(slot);
    if (owner != worker) {
      if (owner != null) {
        drop(slot);
      }
      owners.set(slot, worker);
    }
    KvEventState[] sources = sources(slot);
    for (KvEventState source : sources) {
      if (source.rank() == rank) {
        return source;
      }
    }
    return add(slot, rank, sources);
  }

  private @Nullable KvEventState add(int slot, int rank, KvEventState[] sources) {
    int own = slot;
    if (sources.length > 0) {
      int further = furtherTaken.nextClearBit(0);
      if (further >= furtherSlots) {
        return null;
      }
      furtherTaken.set(further);
      own = slots + further;
    }
    KvEventState source =
        new KvEventState(rank, index, own, bytesLeft, blocksByTier, ticker.nanos());
    KvEventState[] more = Arrays.copyOf(sources, sources.length + 1);
    more[sources.length] = source;
    byWorker.setRelease(slot, more);
    return source;
  }

  /** Removes a worker that has left. */
  public synchronized void forget(Worker worker) {
    int slot = worker.slot();
    if (slot < slots && owners.get(slot) == worker) {
      owners.set(slot, null);
      drop(slot);
    }
  }

  private void drop(int slot) {
    KvEventState[] sources = sources(slot);
    byWorker.setRelease(slot, null);
    for (KvEventState source : sources) {
      source.close();
      if (source.slot() >= slots) {
        furtherTaken.clear(source.slot() - slots);
      }
    }
  }

  KvEventState[] sources(int workerSlot) {
    KvEventState[] sources = workerSlot < slots ? byWorker.getAcquire(workerSlot) : null;
    return sources == null ? NO_SOURCES : sources;
  }

  BlockIndex index() {
    return index;
  }

  /** The number of worker slots. Higher index slots belong to additional ranks. */
  int slots() {
    return slots;
  }

  /** Blocks on a tier, over all workers. */
  long blocks(int tier) {
    return blocksByTier.get(tier);
  }

  /** Returns true if the event streams of all followed ranks of the worker are complete. */
  public boolean live(int workerSlot) {
    boolean any = false;
    for (KvEventState source : sources(workerSlot)) {
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
   * Returns true if a prompt part without a match on the worker is certainly not cached there.
   * False if the worker is not {@link #live}. Also false if it announces only blocks that no prompt
   * can match: sliding windows, or tokens in pairs.
   */
  public boolean comparable(int workerSlot) {
    if (!live(workerSlot)) {
      return false;
    }
    for (KvEventState source : sources(workerSlot)) {
      if (source.live() && !source.comparable()) {
        return false;
      }
    }
    return true;
  }

  /**
   * Records that the worker's engine found more of a prompt than its events announced. Placements
   * up to {@code until} may then be cached although no event announces them.
   */
  public void doubted(int workerSlot, long until) {
    for (KvEventState source : sources(workerSlot)) {
      source.doubted(until);
    }
  }

  /**
   * Ticker time from which the worker's events are complete. Earlier placements may be cached
   * without an event.
   */
  public long knownSince(int workerSlot, long now) {
    KvEventState[] sources = sources(workerSlot);
    long since = now;
    for (int i = 0; i < sources.length; i++) {
      long its = sources[i].knownSince();
      since = i == 0 || its - since > 0 ? its : since;
    }
    return since;
  }

  /** Number of times the worker's cache was certainly empty: by an event or a restart. */
  public int clears(int workerSlot) {
    int clears = 0;
    for (KvEventState source : sources(workerSlot)) {
      clears += source.clears();
    }
    return clears;
  }

  /**
   * Ticker time up to which placements were lost at the last of the worker's {@link #clears}.
   *
   * @param now the result if there was none
   */
  public long emptyUntil(int workerSlot, long now) {
    long until = now;
    boolean any = false;
    for (KvEventState source : sources(workerSlot)) {
      if (source.clears() > 0) {
        long its = source.emptyUntil();
        until = !any || its - until > 0 ? its : until;
        any = true;
      }
    }
    return until;
  }

  /** Changes whenever {@link #clears} of any worker changes. */
  public long allClears() {
    return allClears.get();
  }

  /**
   * Estimated capacity of a worker's device memory in tokens. Exceeds the assumption if more was
   * announced at once. Falls below it if removals show that the memory is full with less.
   *
   * @param assumed capacity assumed without events, for all ranks together
   */
  public long capacityTokens(Worker worker, long assumed) {
    KvEventState[] sources = sourcesOf(worker);
    if (sources.length == 0) {
      return assumed;
    }
    long tokens = 0;
    for (KvEventState source : sources) {
      tokens += source.capacityTokens(assumed / sources.length);
    }
    return tokens;
  }

  /** Tokens on a worker's device, as announced. */
  public long deviceTokens(Worker worker) {
    long tokens = 0;
    for (KvEventState source : sourcesOf(worker)) {
      tokens += source.deviceTokens();
    }
    return tokens;
  }

  /** Returns the sources of a worker, or of the worker that it is a copy of. */
  @SuppressWarnings("ReferenceEquality") // the same worker needs no comparison of ids
  private KvEventState[] sourcesOf(Worker worker) {
    int slot = worker.slot();
    Worker owner = slot < slots ? owners.getAcquire(slot) : null;
    boolean same = owner == worker || (owner != null && owner.id().equals(worker.id()));
    return same ? sources(slot) : NO_SOURCES;
  }

  /**
   * Looks up the holders of a prompt.
   *
   * @param tokens its routing key, in blocks of token ids
   * @param model the requested model, which may be an adapter
   */
  public KvHits hits(PrefixBlocks tokens, @Nullable String model) {
    boolean comparable = tokens.tokenIds() && tokens.blockLength() == TokenIds.PER_BLOCK;
    return comparable ? KvHits.of(this, tokens, adapters.asked(model)) : KvHits.NONE;
  }

  /**
   * Returns true if events can identify the holders of {@code model}. False for a reported adapter
   * that no event has named, while events named others.
   */
  boolean distinguishes(String model) {
    if (adapters.distinguishes(model)) {
      return true;
    }
    for (int slot = 0; slot < slots; slot++) {
      Worker worker = owners.getAcquire(slot);
      if (worker != null && worker.models().contains(model)) {
        return worker.bases().contains(model);
      }
    }
    return true;
  }

  /** Prompts that are placed but not computed yet; policies maintain it. */
  public PendingPrompts pending() {
    return pending;
  }

  /** Counters of lookup results. */
  public KvTally tally() {
    return tally;
  }

  /** Blocks that were not recorded for lack of memory. */
  public long refused() {
    long refused = 0;
    for (int slot = 0; slot < slots; slot++) {
      for (KvEventState source : sources(slot)) {
        refused += source.refused();
      }
    }
    return refused;
  }

  /** Number of workers with complete event streams. */
  public int liveWorkers() {
    int live = 0;
    for (int slot = 0; slot < slots; slot++) {
      live += live(slot) ? 1 : 0;
    }
    return live;
  }

  /** Blocks that prompts can match; a block on several workers or tiers counts for each. */
  public long blocks() {
    long blocks = 0;
    for (int tier = 0; tier < blocksByTier.length(); tier++) {
      blocks += blocksByTier.get(tier);
    }
    return blocks;
  }

  /** Current memory in bytes. */
  public long bytes() {
    return maxBytes / NODE_SHARE - bytesLeft.get() + index.bytes();
  }

  /** Maximum memory in bytes. */
  public long maxBytes() {
    return maxBytes;
  }
}
