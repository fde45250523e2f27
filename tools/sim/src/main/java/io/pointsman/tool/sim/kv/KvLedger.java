package io.pointsman.tool.sim.kv;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The blocks that an engine holds for others, their leases, and the readers that wait for blocks.
 * Time is an argument, in nanoseconds of engine time. Owned by the event loop.
 *
 * <p>A lease begins when the blocks are reserved. A renewal extends it to two thirds of its length
 * from that moment, if that is later. Reading frees nothing; the reader must release.
 */
public final class KvLedger {
  /** Returned by {@link #nextExpiry} if nothing is reserved. */
  public static final long NEVER = Long.MAX_VALUE;

  /** Maximum number of remembered ended keys, which distinguish stale keys from unknown ones. */
  private static final int REMEMBERED = 10_000;

  private static final int MOST_WAITING = 10_000;

  private final Map<String, Entry> byKey = new HashMap<>();
  private final Set<Entry> entries = new LinkedHashSet<>();
  private final Map<String, String> ended =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
          return size() > REMEMBERED;
        }
      };
  private final Map<String, List<Runnable>> readers = new HashMap<>();
  private final Map<String, Runnable> producers = new HashMap<>();
  private int waiting;
  private int blocks;
  private long released;
  private long leaked;
  private long leakedBlocks;
  private long renewals;

  private static final class Entry {
    final ReservedBlocks reserved;
    long expiry;

    Entry(ReservedBlocks reserved, long expiry) {
      this.reserved = reserved;
      this.expiry = expiry;
    }
  }

  /** Holds blocks, and wakes the readers that wait for them. */
  public void hold(ReservedBlocks reserved, long now) {
    for (String key : reserved.keys()) {
      Entry before = byKey.get(key);
      if (before != null) {
        leaked++;
        leakedBlocks += before.reserved.blocks();
        end(before, "replaced by a later request");
      }
    }
    Entry entry = new Entry(reserved, now + reserved.leaseNanos());
    entries.add(entry);
    blocks += reserved.blocks();
    for (String key : reserved.keys()) {
      byKey.put(key, entry);
      ended.remove(key);
    }
    for (String key : reserved.keys()) {
      List<Runnable> woken = readers.remove(key);
      if (woken != null) {
        waiting -= woken.size();
        woken.forEach(Runnable::run);
      }
    }
  }

  /** Returns the blocks reserved under a key; null if there are none. */
  public @Nullable ReservedBlocks find(String key) {
    Entry entry = byKey.get(key);
    return entry == null ? null : entry.reserved;
  }

  /**
   * Returns the claimed blocks.
   *
   * @throws FieldError if they are not reserved, or differ
   */
  public ReservedBlocks claim(Claim claim) {
    ReservedBlocks reserved = find(claim.key());
    if (reserved == null) {
      String why = ended.getOrDefault(claim.key(), "never produced here");
      throw FieldError.stale(claim.field(), claim.key() + " (" + why + ")");
    }
    reserved.check(claim);
    return reserved;
  }

  /** Returns true if blocks may still be reserved under a key later. */
  public boolean mayCome(String key) {
    return !ended.containsKey(key);
  }

  /**
   * Waits for blocks to be reserved under a key.
   *
   * @return cancels the wait
   * @throws FieldError if the maximum number of readers waits
   */
  public Runnable await(String key, Runnable reader) {
    if (waiting == MOST_WAITING) {
      throw FieldError.stale("remote_request_id", "too many readers wait");
    }
    waiting++;
    readers.computeIfAbsent(key, k -> new ArrayList<>()).add(reader);
    Runnable producer = producers.remove(key);
    if (producer != null) {
      producer.run();
    }
    return () -> leave(key, reader);
  }

  /**
   * Runs an action when a reader waits for a key; at once if one does.
   *
   * @return cancels the action
   */
  public Runnable awaitReader(String key, Runnable producer) {
    if (readers.containsKey(key)) {
      producer.run();
      return KvLedger::nothing;
    }
    if (producers.size() == MOST_WAITING) {
      throw FieldError.stale("bootstrap_room", "too many prefills wait");
    }
    if (producers.putIfAbsent(key, producer) != null) {
      throw FieldError.wrong("bootstrap_room", key, "one that no other request uses");
    }
    return () -> producers.remove(key, producer);
  }

  /** Extends a lease; no effect if nothing is reserved. */
  public void renew(Claim claim, long now) {
    Entry entry = byKey.get(claim.key());
    if (entry != null) {
      renewals++;
      entry.expiry = Math.max(entry.expiry, now + entry.reserved.leaseNanos() * 2 / 3);
    }
  }

  /** Releases blocks; no effect if nothing is reserved. */
  public void release(Claim claim) {
    Entry entry = byKey.get(claim.key());
    if (entry != null) {
      released++;
      end(entry, "released already");
    }
  }

  /** Releases blocks with expired leases. */
  public void expire(long now) {
    for (Entry entry : List.copyOf(entries)) {
      if (entry.expiry <= now) {
        leaked++;
        leakedBlocks += entry.reserved.blocks();
        end(entry, "lease expired");
      }
    }
  }

  /** Time of the next expiry. */
  public long nextExpiry() {
    long next = NEVER;
    for (Entry entry : entries) {
      next = Math.min(next, entry.expiry);
    }
    return next;
  }

  /** Drops all blocks and readers, like an engine that dies. */
  public void clear() {
    List.copyOf(entries).forEach(entry -> end(entry, "lost with the engine"));
    ended.clear();
    readers.clear();
    producers.clear();
    waiting = 0;
  }

  /** Number of waiting readers. */
  public int waiting() {
    return waiting;
  }

  /** The reserved blocks, and counts of the ended ones. */
  public KvState.ReservedCounts state() {
    return new KvState.ReservedCounts(
        entries.size(), blocks, released, leaked, leakedBlocks, renewals);
  }

  /** Resets the counters to zero; reserved blocks stay. */
  public void resetCounters() {
    released = 0;
    leaked = 0;
    leakedBlocks = 0;
    renewals = 0;
  }

  private void end(Entry entry, String why) {
    if (!entries.remove(entry)) {
      return;
    }
    blocks -= entry.reserved.blocks();
    for (String key : entry.reserved.keys()) {
      byKey.remove(key, entry);
      ended.put(key, why);
    }
    entry.reserved.free().run();
  }

  private void leave(String key, Runnable reader) {
    List<Runnable> waiters = readers.get(key);
    if (waiters != null && waiters.remove(reader)) {
      waiting--;
      if (waiters.isEmpty()) {
        readers.remove(key);
      }
    }
  }

  private static void nothing() {}
}
