package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.PendingPrompts;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixIndex;
import org.jspecify.annotations.Nullable;

/**
 * Cache data of the whole fleet: the index of prefixes by worker, the blocks lost recently, the
 * memory for the cache models, and the engines' announcements. Any thread.
 */
public final class FleetCaches {
  /** Memory reserved for reports, in bytes. */
  public static final int REPORT_BYTES = 1 << 16;

  /** The index gets this fraction of the memory, the cache models get the rest. */
  private static final int INDEX_SHARE = 2;

  private final PrefixIndex index;
  private final GhostList ghosts = new GhostList();
  private final CacheMemory memory;
  private final KvKnowledge kv;

  /** The same announcements, for look-ups that no decision uses. */
  private final KvKnowledge unseen;

  private final KvCredits credits;
  private final PendingPrompts pending;

  /**
   * @param maxBytes memory of all parts together; at least 2 MiB
   * @param kv the engines' announcements
   * @param credits values of blocks on other tiers than the device
   * @param slots number of slots of workers
   * @param largePages memory pages for the index
   */
  public FleetCaches(
      long maxBytes, KvKnowledge kv, KvCredits credits, int slots, LargePages largePages) {
    this(maxBytes, new PrefixIndex(indexBytes(maxBytes), slots, largePages), kv, credits);
  }

  /**
   * Creates the data with a given index.
   *
   * @param maxBytes memory of all parts together; at least 2 MiB
   * @param index an index of {@link #indexBytes}
   */
  public FleetCaches(long maxBytes, PrefixIndex index, KvKnowledge kv, KvCredits credits) {
    this(
        index,
        new CacheMemory(maxBytes - (indexBytes(maxBytes) + GhostList.bytes() + REPORT_BYTES)),
        kv,
        credits);
  }

  /** Memory of the index in bytes, of {@code maxBytes} for all parts. */
  public static long indexBytes(long maxBytes) {
    return maxBytes / INDEX_SHARE;
  }

  /** Creates the data with a given index and memory. */
  public FleetCaches(PrefixIndex index, CacheMemory memory, KvKnowledge kv, KvCredits credits) {
    this.index = index;
    this.memory = memory;
    this.kv = kv;
    this.credits = credits;
    unseen = kv.unseen();
    pending = kv.index().pending();
  }

  public PrefixIndex index() {
    return index;
  }

  public GhostList ghosts() {
    return ghosts;
  }

  public CacheMemory memory() {
    return memory;
  }

  /** Returns the prompts that are placed but not computed. */
  public PendingPrompts pending() {
    return pending;
  }

  /** Returns the index of announced blocks. */
  public KvIndex announced() {
    return kv.index();
  }

  /** Returns the announcements for look-ups that no decision uses. */
  public KvKnowledge unseen() {
    return unseen;
  }

  /** Finds the holders of a prompt for a decision; null if there are none. */
  public @Nullable CachedPrefix find(RoutingRequest request, long now) {
    return CachedPrefix.of(index, pending, kv, credits, request, now);
  }

  /** Finds the holders of a prompt without counting the look-up; null if there are none. */
  public @Nullable CachedPrefix findUncounted(RoutingRequest request, long now) {
    return CachedPrefix.of(index, pending, unseen, credits, request, now);
  }
}
