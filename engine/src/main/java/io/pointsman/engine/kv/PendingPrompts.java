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

  /** A prompt was placed. */
  public void placed(Lease lease) {
    bySlot.get(lease.worker().slot()).add(lease);
  }

  /** Its first token has come, or the request has ended; may be said more than once. */
  public void computed(Lease lease) {
    bySlot.get(lease.worker().slot()).remove(lease);
  }

  /**
   * The time, by the ticker, from which on placements on the worker in a slot count as held though
   * they are not announced.
   */
  public long heldSince(int slot, long now) {
    long late = now - KvKnowledge.LATE_NANOS;
    Lease oldest = bySlot.get(slot).oldest;
    if (oldest == null || oldest.placedAt() - late >= 0) {
      return late;
    }
    return Math.max(oldest.placedAt() - now, -MOST_NANOS) + now;
  }
}
