package io.pointsman.engine.choice;

import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Leases by the ids that their proxies assigned, and early settlements of ids without a lease.
 * Ended leases stay until {@link ExternalLeases} reuses their entries. Any thread.
 *
 * <p>A settlement and the hold of the same id can run concurrently. The settlement records the id,
 * then looks for the lease again. The hold registers the lease, then checks for the record. At
 * least one of them sees the other.
 */
final class NamedLeases {
  private final ConcurrentHashMap<String, ExternalLease> leases = new ConcurrentHashMap<>();
  private final EarlyEnds early = new EarlyEnds();

  /** The state of an id. */
  enum IdClaim {
    FREE,
    /** A lease has the id, or had it and ended without settlement. */
    TAKEN,
    /** The id was settled, before or after a lease had it. */
    SETTLED
  }

  IdClaim claim(String id, long now) {
    if (early.has(id, now)) {
      return IdClaim.SETTLED;
    }
    ExternalLease held = leases.get(id);
    return held == null ? IdClaim.FREE : held.settled() ? IdClaim.SETTLED : IdClaim.TAKEN;
  }

  /**
   * Registers a lease under {@code id}. Unless the result is {@link IdClaim#FREE}, the caller must
   * give the lease back.
   */
  IdClaim add(String id, ExternalLease held, long now) {
    ExternalLease before = leases.putIfAbsent(id, held);
    if (before != null) {
      return before.settled() ? IdClaim.SETTLED : IdClaim.TAKEN;
    }
    return early.has(id, now) ? IdClaim.SETTLED : IdClaim.FREE;
  }

  /** Removes an ended lease. */
  void remove(String id, ExternalLease held) {
    leases.remove(id, held);
  }

  @Nullable ExternalLease find(String id) {
    return leases.get(id);
  }

  /**
   * Returns the lease to settle. If there is none, records the id as settled early and returns
   * null, unless a lease has appeared since.
   */
  @Nullable ExternalLease findToSettle(String id, long now) {
    ExternalLease held = leases.get(id);
    if (held == null) {
      early.add(id, now);
      held = leases.get(id);
    }
    return held;
  }
}
