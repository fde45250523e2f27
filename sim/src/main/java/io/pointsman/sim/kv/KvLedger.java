package io.pointsman.sim.kv;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The blocks that an engine holds for others, their leases, and who waits for blocks to come. Time
 * is an argument, in nanoseconds of engine time. Owned by the event loop.
 *
 * <p>A lease begins when the blocks are held. A renewal makes it end two thirds of its length from
 * then, if that is later. Reading frees nothing: the reader releases.
 */
public final class KvLedger {
  /** Returned by {@link #nextExpiry} when nothing is held. */
  public static final long NEVER = Long.MAX_VALUE;

  /** Ended keys remembered, so that a stale one is told from one that never was. */
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
    final Held held;
    long expiry;

    Entry(Held held, long expiry) {
      this.held = held;
      this.expiry = expiry;
    }
  }

  /** Holds blocks, and wakes those who waited for them. */
  public void hold(Held held, long now) {
    for (String key : held.keys()) {
      Entry before = byKey.get(key);
      if (before != null) {
        leaked++;
        leakedBlocks += before.held.blocks();
        end(before, "replaced by a later request");
      }
    }
    Entry entry = new Entry(held, now + held.leaseNanos());
    entries.add(entry);
    blocks += held.blocks();
    for (String key : held.keys()) {
      byKey.put(key, entry);
      ended.remove(key);
    }
    for (String key : held.keys()) {
      List<Runnable> woken = readers.remove(key);
      if (woken != null) {
        waiting -= woken.size();
        woken.forEach(Runnable::run);
      }
    }
  }

  /** What is held under a key; null without. */
  public @Nullable Held find(String key) {
    Entry entry = byKey.get(key);
    return entry == null ? null : entry.held;
  }

  /**
   * What a claim is to.
   *
   * @throws FieldError if it is not held, or differs
   */
  public Held claim(Claim claim) {
    Held held = find(claim.key());
    if (held == null) {
      String why = ended.getOrDefault(claim.key(), "never produced here");
      throw FieldError.stale(claim.field(), claim.key() + " (" + why + ")");
    }
    held.check(claim);
    return held;
  }

  /** Whether something may yet be held under a key. */
  public boolean mayCome(String key) {
    return !ended.containsKey(key);
  }

  /**
   * Waits for blocks to be held under a key.
   *
   * @return cancels the wait
   * @throws FieldError if too many wait already
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
   * Runs something once a reader waits for a key, at once if one does.
   *
   * @return forgets it
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

  /** Extends a lease; without effect when nothing is held. */
  public void renew(Claim claim, long now) {
    Entry entry = byKey.get(claim.key());
    if (entry != null) {
      renewals++;
      entry.expiry = Math.max(entry.expiry, now + entry.held.leaseNanos() * 2 / 3);
    }
  }

  /** Gives blocks back; without effect when nothing is held. */
  public void release(Claim claim) {
    Entry entry = byKey.get(claim.key());
    if (entry != null) {
      released++;
      end(entry, "released already");
    }
  }

  /** Takes back what nobody fetched in time. */
  public void expire(long now) {
    for (Entry entry : List.copyOf(entries)) {
      if (entry.expiry <= now) {
        leaked++;
        leakedBlocks += entry.held.blocks();
        end(entry, "lease expired");
      }
    }
  }

  /** When {@link #expire} has something to do. */
  public long nextExpiry() {
    long next = NEVER;
    for (Entry entry : entries) {
      next = Math.min(next, entry.expiry);
    }
    return next;
  }

  /** Forgets everything, as an engine that dies. */
  public void clear() {
    List.copyOf(entries).forEach(entry -> end(entry, "lost with the engine"));
    ended.clear();
    readers.clear();
    producers.clear();
    waiting = 0;
  }

  /** Readers that wait. */
  public int waiting() {
    return waiting;
  }

  /** What is held, and what became of the rest. */
  public KvState.HeldBlocks state() {
    return new KvState.HeldBlocks(entries.size(), blocks, released, leaked, leakedBlocks, renewals);
  }

  /** Starts the counters at zero again; what is held stays. */
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
    blocks -= entry.held.blocks();
    for (String key : entry.held.keys()) {
      byKey.remove(key, entry);
      ended.put(key, why);
    }
    entry.held.free().run();
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
