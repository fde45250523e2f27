package io.pointsman.engine.choice;

import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Leases by the ids that their planes have given them, those that have ended too as long as they
 * are remembered, and what was said of ids that no lease had yet. Any thread.
 *
 * <p>A settlement and the lease that it means may come at once: the one notes its id before it
 * looks for the lease a second time, the other makes itself known before it looks for the note, so
 * that one of them finds the other.
 */
final class NamedLeases {
  private final ConcurrentHashMap<String, HeldLease> leases = new ConcurrentHashMap<>();
  private final EarlyEnds early = new EarlyEnds();

  /** What an id can be used for. */
  enum Claim {
    FREE,
    /** A lease is held under it, or was before it ended otherwise than by being settled. */
    TAKEN,
    /** It was settled: before any lease had it, or with the lease that had it. */
    SETTLED
  }

  Claim claim(String id, long now) {
    if (early.has(id, now)) {
      return Claim.SETTLED;
    }
    HeldLease held = leases.get(id);
    return held == null ? Claim.FREE : held.settled() ? Claim.SETTLED : Claim.TAKEN;
  }

  /** Makes a lease known by {@code id}; unless that is free it must be given back. */
  Claim add(String id, HeldLease held, long now) {
    HeldLease before = leases.putIfAbsent(id, held);
    if (before != null) {
      return before.settled() ? Claim.SETTLED : Claim.TAKEN;
    }
    return early.has(id, now) ? Claim.SETTLED : Claim.FREE;
  }

  /** The lease is remembered no more. */
  void remove(String id, HeldLease held) {
    leases.remove(id, held);
  }

  @Nullable HeldLease find(String id) {
    return leases.get(id);
  }

  /** The lease to settle; null if there is none yet, and then one that comes soon holds nothing. */
  @Nullable HeldLease findToSettle(String id, long now) {
    HeldLease held = leases.get(id);
    if (held == null) {
      early.add(id, now);
      held = leases.get(id);
    }
    return held;
  }
}
