package io.pointsman.engine.kv;

import io.pointsman.engine.fleet.LeaseView;
import java.util.LinkedHashSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The prompts on each worker that are placed but not computed yet. An engine announces a prompt
 * only when it computes it, and a queue can delay that. A placement counts as cached until then,
 * and for at least {@link KvKnowledge#LATE_NANOS}. Afterwards only the events count.
 *
 * <p>Safe for use by several threads; lookups take no lock.
 */
public final class PendingPrompts {
  /** Maximum wait that counts, for a worker that hangs or reports no first tokens. */
  private static final long MOST_NANOS = TimeUnit.MINUTES.toNanos(2);

  /** The prompts of one worker; the set is guarded by this. */
  private static final class PromptLine {
    /** Leases without a first token, in the order of placement. */
    private final LinkedHashSet<LeaseView> leases = new LinkedHashSet<>();

    /** The first of them; null if there is none. */
    private volatile @Nullable LeaseView oldest;

    synchronized void add(LeaseView lease) {
      leases.add(lease);
      oldest = leases.getFirst();
    }

    synchronized void remove(LeaseView lease) {
      leases.remove(lease);
      oldest = leases.isEmpty() ? null : leases.getFirst();
    }
  }

  private final AtomicReferenceArray<PromptLine> bySlot;

  /** Creates a table without pending prompts. */
  public PendingPrompts(int slots) {
    bySlot = new AtomicReferenceArray<>(slots);
    for (int slot = 0; slot < slots; slot++) {
      bySlot.setPlain(slot, new PromptLine());
    }
  }

  /** Records that a prompt was placed; may be called repeatedly. */
  public void placed(LeaseView lease) {
    int slot = lease.worker().slot();
    if (slot < bySlot.length()) {
      bySlot.get(slot).add(lease);
    }
  }

  /**
   * Records that the first token has arrived or the request has ended; may be called repeatedly.
   */
  public void computed(LeaseView lease) {
    int slot = lease.worker().slot();
    if (slot < bySlot.length()) {
      bySlot.get(slot).remove(lease);
    }
  }

  /** Ticker time from which unannounced placements on the worker count as cached. */
  public long cachedSince(int slot, long now) {
    return now - Math.max(longestWait(slot, now), KvKnowledge.LATE_NANOS);
  }

  /**
   * Ticker time up to which placements are lost if the engine announces an empty cache now. Waiting
   * prompts are computed afterwards.
   */
  long goneUntil(int slot, long now) {
    long wait = longestWait(slot, now);
    return wait < 0 ? now : now - wait - 1;
  }

  /** Nanoseconds for which the oldest prompt waits; below 0 if none waits. */
  private long longestWait(int slot, long now) {
    LeaseView oldest = slot < bySlot.length() ? bySlot.get(slot).oldest : null;
    return oldest == null ? -1 : Math.clamp(now - oldest.placedAt(), 0, MOST_NANOS);
  }
}
