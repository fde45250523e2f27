package io.pointsman.engine.choice;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * All leases held for external proxies, in a ring of entries. At most half of the entries hold an
 * active lease. An ended lease keeps its entry until a later lease needs it. The ring thus
 * distinguishes a repeated settlement from an unknown id. Any thread; only single leases are
 * locked.
 *
 * <p>The ring may change its size. A lease keeps its entry for this reason, also one beyond the end
 * of a smaller ring. Such an entry is released after the end of its lease.
 */
final class ExternalLeases {
  /** The limits, and the size of the ring that follows from them: a power of two. */
  private record Bounds(ExternalLeaseSettings settings, int ring) {
    static Bounds of(ExternalLeaseSettings settings) {
      return new Bounds(settings, Integer.highestOneBit(2 * settings.maxLeases() - 1) << 1);
    }
  }

  private volatile Bounds bounds;

  /** True if entries beyond the end of the ring may hold a lease. */
  private volatile boolean beyond;

  private final ExternalLeaseTally tally = new ExternalLeaseTally();
  private final RandomSource random;
  private final LeaseEntries entries = new LeaseEntries();
  private final NamedLeases named = new NamedLeases();
  private final AtomicLong next = new AtomicLong();
  private final AtomicInteger open = new AtomicInteger();

  /** Number of open leases by owner; owners are of a closed set. */
  private final ConcurrentHashMap<String, AtomicInteger> ofOwners = new ConcurrentHashMap<>();

  /** Lower bound of all expiry times in the future; may be too early. */
  private final AtomicLong firstExpiry;

  ExternalLeases(ExternalLeaseSettings settings, RandomSource random, long now) {
    bounds = Bounds.of(settings);
    this.random = random;
    firstExpiry = new AtomicLong(farAfter(now));
  }

  private static long farAfter(long now) {
    return now + Long.MAX_VALUE / 4;
  }

  /** Uses other limits for later leases and renewals. Held leases stay. */
  void use(ExternalLeaseSettings next) {
    Bounds before = bounds;
    Bounds of = Bounds.of(next);
    bounds = of;
    if (of.ring < before.ring) {
      beyond = true;
    }
  }

  ExternalLeaseTally tally() {
    return tally;
  }

  int open() {
    return open.get();
  }

  /** Returns true if the maximum number of leases is held, in all or by this owner. */
  boolean full(String owner) {
    ExternalLeaseSettings most = bounds.settings;
    return open.get() >= most.maxLeases() || ofOwner(owner).get() >= most.maxOfOwner();
  }

  private AtomicInteger ofOwner(String owner) {
    return ofOwners.computeIfAbsent(owner, _ -> new AtomicInteger());
  }

  /** Counts one more. Never beyond the maximum: another thread would then be refused for it. */
  private static boolean count(AtomicInteger held, int most) {
    return held.getAndUpdate(now -> now < most ? now + 1 : now) < most;
  }

  /**
   * Nanoseconds from {@code now} until the next lease may expire; 0 to the longest duration of a
   * lease. During a scan the time of the next expiry is unknown.
   */
  long untilExpiry(long now) {
    long longest = bounds.settings.maxTtl().toNanos();
    return Math.clamp(firstExpiry.get() - now, 0, longest);
  }

  /**
   * Holds {@code lease}. The caller must pass a lease with a proxy's id to {@link #named} next.
   *
   * @param prefill held with it; null if the same worker serves prefill
   * @return null, without holding it, if the maximum number of leases is held, in all or by the
   *     owner
   */
  @Nullable ExternalLease hold(Lease lease, @Nullable Lease prefill, long now, LeaseTerms terms) {
    Bounds of = bounds;
    ExternalLeaseSettings settings = of.settings;
    AtomicInteger own = ofOwner(terms.owner());
    if (!count(own, settings.maxOfOwner())) {
      return null;
    }
    if (!count(open, settings.maxLeases())) {
      own.decrementAndGet();
      return null;
    }
    ExternalLease.Ends ends =
        (outcome, tokens) -> {
          own.decrementAndGet();
          ended(outcome, tokens);
        };
    String secret = ExternalLeaseIds.secret(random);
    long expiresAt = now + terms.ttl().toNanos();
    long latest = now + settings.maxLifetime().toNanos();
    while (true) {
      long sequence = next.getAndIncrement();
      // Of two sizes the larger: leases of the other may have taken all entries of the smaller.
      int entry = (int) (sequence & (Math.max(of.ring, bounds.ring) - 1));
      ExternalLease before = entries.get(entry);
      if (before == null || before.ended()) {
        ExternalLease held =
            new ExternalLease(lease, prefill, ends, terms.id(), entry, secret, expiresAt, latest);
        if (entries.compareAndSet(entry, before, held)) {
          if (before != null) {
            forget(before);
          }
          expiresBy(expiresAt);
          if (entry >= bounds.ring) {
            beyond = true;
          }
          return held;
        }
      }
    }
  }

  /**
   * Checks whether the id requested by the proxy is free. A lease without such an id is always
   * free.
   */
  NamedLeases.IdClaim claim(LeaseTerms terms, long now) {
    return terms.id() == null ? NamedLeases.IdClaim.FREE : named.claim(terms.id(), now);
  }

  /** Registers a lease under its proxy's id. If the id is not free, gives the lease back. */
  NamedLeases.IdClaim named(ExternalLease held, long now) {
    String name = held.name();
    if (name == null) {
      return NamedLeases.IdClaim.FREE;
    }
    NamedLeases.IdClaim claim = named.add(name, held, now);
    if (claim != NamedLeases.IdClaim.FREE) {
      held.settle(now, Outcome.IGNORED, EndReport.NONE);
    }
    if (entries.get(held.entry()) != held) {
      // The lease has ended, and its entry was reused before the registration.
      forget(held);
    }
    return claim;
  }

  private void forget(ExternalLease held) {
    String name = held.name();
    if (name != null) {
      named.remove(name, held);
    }
  }

  private void expiresBy(long time) {
    if (time - firstExpiry.get() < 0) {
      firstExpiry.accumulateAndGet(time, (a, b) -> a - b < 0 ? a : b);
    }
  }

  LeaseResult renew(String id, long now, Duration ttl, boolean answering) {
    LeaseResult answer = with(id, now, (held, time) -> held.renew(time, ttl.toNanos(), answering));
    if (answer.kind() == LeaseResult.Kind.DONE) {
      // The new expiry may be earlier than the previous one.
      expiresBy(now + answer.expiresInNanos());
    }
    return answer;
  }

  LeaseResult confirm(String id, long now) {
    return with(id, now, ExternalLease::confirm);
  }

  LeaseResult prefilled(String id, long now, Outcome outcome) {
    return with(id, now, (held, time) -> held.prefilled(time, outcome));
  }

  LeaseResult answered(String id, long now) {
    return with(id, now, ExternalLease::answered);
  }

  LeaseResult settle(String id, long now, Outcome outcome, EndReport report) {
    ExternalLease held = LeaseTerms.isId(id) ? named.findToSettle(id, now) : find(id);
    return applied(held, now, (each, time) -> each.settle(time, outcome, report));
  }

  /** An operation on a lease. */
  private interface Operation {
    LeaseResult apply(ExternalLease held, long now);
  }

  private LeaseResult with(String id, long now, Operation operation) {
    return applied(find(id), now, operation);
  }

  private @Nullable ExternalLease find(String id) {
    if (LeaseTerms.isId(id)) {
      return named.find(id);
    }
    int entry = ExternalLeaseIds.entry(id);
    ExternalLease held = entry < 0 ? null : entries.get(entry);
    return held != null && held.is(ExternalLeaseIds.secret(id)) ? held : null;
  }

  private static LeaseResult applied(@Nullable ExternalLease held, long now, Operation operation) {
    return held == null || held.expire(now) ? LeaseResult.UNKNOWN : operation.apply(held, now);
  }

  private void ended(Outcome outcome, TokenCounts tokens) {
    open.decrementAndGet();
    if (outcome.equals(Outcome.EXPIRED)) {
      tally.expires();
    } else {
      tally.settled(outcome, tokens);
    }
  }

  /**
   * Ends the leases overdue at {@code now} as expired.
   *
   * @return the number of leases ended
   */
  int expire(long now) {
    boolean due = open.get() != 0 && now - firstExpiry.get() >= 0;
    if (!due && !beyond) {
      return 0;
    }
    // Leases held or renewed during the scan lower this value again.
    firstExpiry.set(farAfter(now));
    beyond = false;
    boolean whole = false;
    try {
      int count = expireAll(now);
      whole = true;
      return count;
    } finally {
      if (!whole) {
        // A listener has thrown; the next call processes the rest.
        expiresBy(now);
        beyond = true;
      }
    }
  }

  private int expireAll(long now) {
    int ring = bounds.ring;
    int count = 0;
    for (int entry = 0; entry < LeaseEntries.MOST; entry = entries.after(entry)) {
      ExternalLease held = entries.get(entry);
      if (held == null) {
        continue;
      }
      if (held.expire(now)) {
        count++;
      } else if (!held.ended()) {
        expiresBy(held.expiresAt());
        if (entry >= ring) {
          beyond = true;
        }
        continue;
      }
      if (entry >= ring && entries.compareAndSet(entry, held, null)) {
        forget(held);
      }
    }
    return count;
  }
}
