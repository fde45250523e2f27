package io.pointsman.engine.kv;

import io.pointsman.engine.fleet.Lease;
import java.util.LinkedHashSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Since when prompts wait on each worker to be computed. An engine announces a prompt only when it
 * computes it, which a queue can delay by any time. Until then, and for {@link
 * KvKnowledge#LATE_NANOS} after the placement in any case, the placement says that the worker will
 * hold the prompt; afterwards the announcements say what it holds.
 *
 * <p>Safe for threads; lookups take no lock.
 */
public final class PendingPrompts {
  /** A worker that hangs, or reports no first tokens, delays the rule by so much at most. */
  private static final long MOST_NANOS = TimeUnit.MINUTES.toNanos(2);

  /** Of one worker; the set is guarded by this. */
  private static final class Line {
    /** Leases without a first token, in the order of their placement. */
    private final LinkedHashSet<Lease> leases = new LinkedHashSet<>();

    /** The first of them; null if there is none. */
    private volatile @Nullable Lease oldest;

    synchronized void add(Lease lease) {
      leases.add(lease);
      oldest = leases.getFirst();
    }

    synchronized void remove(Lease lease) {
      leases.remove(lease);
      oldest = leases.isEmpty() ? null : leases.getFirst();
    }
  }

  private final AtomicReferenceArray<Line> bySlot;

  /** None waits. */
  public PendingPrompts(int maxWorkers) {
    bySlot = new AtomicReferenceArray<>(maxWorkers);
    for (int slot = 0; slot < maxWorkers; slot++) {
      bySlot.setPlain(slot, new Line());
    }
  }

  /** A prompt was placed; may be said more than once. */
  public void placed(Lease lease) {
    int slot = lease.worker().slot();
    if (slot < bySlot.length()) {
      bySlot.get(slot).add(lease);
    }
  }

  /** Its first token has come, or the request has ended; may be said more than once. */
  public void computed(Lease lease) {
    int slot = lease.worker().slot();
    if (slot < bySlot.length()) {
      bySlot.get(slot).remove(lease);
    }
  }

  /**
   * The time, by the ticker, from which on placements on the worker in a slot count as held though
   * they are not announced.
   */
  public long heldSince(int slot, long now) {
    return now - Math.max(longestWait(slot, now), KvKnowledge.LATE_NANOS);
  }

  /**
   * Until when placements on the worker in a slot are gone if its engine announces now that it is
   * empty: prompts that wait are computed afterwards.
   */
  long goneUntil(int slot, long now) {
    long wait = longestWait(slot, now);
    return wait < 0 ? now : now - wait - 1;
  }

  /** How long the oldest prompt waits; below 0 if none does. */
  private long longestWait(int slot, long now) {
    Lease oldest = slot < bySlot.length() ? bySlot.get(slot).oldest : null;
    return oldest == null ? -1 : Math.clamp(now - oldest.placedAt(), 0, MOST_NANOS);
  }
}
