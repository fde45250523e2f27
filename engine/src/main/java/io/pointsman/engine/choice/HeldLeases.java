package io.pointsman.engine.choice;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * All leases that are held for other planes: a ring of places, of which at most half hold a lease.
 * A lease keeps its place when it ends, until a later one needs it, so that a second settlement can
 * be told from an unknown id without a table of its own. Any thread; nothing is locked but single
 * leases.
 */
final class HeldLeases {
  private static final int NONCE_HALF = 1 << 30;

  private final HoldSettings settings;
  private final HoldTally tally = new HoldTally();
  private final Dice dice;
  private final AtomicReferenceArray<@Nullable HeldLease> places;
  private final NamedLeases named = new NamedLeases();
  private final AtomicLong next = new AtomicLong();
  private final AtomicInteger open = new AtomicInteger();

  /** No lease expires before it, as far as it lies ahead; may be too early. */
  private final AtomicLong firstExpiry;

  HeldLeases(HoldSettings settings, Dice dice, long now) {
    this.settings = settings;
    this.dice = dice;
    places = new AtomicReferenceArray<>(Integer.highestOneBit(2 * settings.maxLeases() - 1) << 1);
    firstExpiry = new AtomicLong(farAfter(now));
  }

  private static long farAfter(long now) {
    return now + Long.MAX_VALUE / 4;
  }

  HoldTally tally() {
    return tally;
  }

  int open() {
    return open.get();
  }

  /** Whether another lease would be too many. */
  boolean full() {
    return open.get() >= settings.maxLeases();
  }

  /** Nanoseconds until the next lease may expire, as of {@code now}; at least 0. */
  long untilExpiry(long now) {
    return Math.max(0, firstExpiry.get() - now);
  }

  /**
   * Holds {@code lease} from now on; null if there are too many, and then it is not held. One with
   * an id of its plane's must be {@link #named} then.
   *
   * @param prefill held with it; null if the same worker serves prefill
   */
  @Nullable HeldLease hold(Lease lease, @Nullable Lease prefill, long now, Hold hold) {
    if (open.incrementAndGet() > settings.maxLeases()) {
      open.decrementAndGet();
      return null;
    }
    long nonce = (long) dice.roll(NONCE_HALF) << 30 | dice.roll(NONCE_HALF);
    long expiresAt = now + hold.ttl().toNanos();
    long latest = now + settings.maxLifetime().toNanos();
    while (true) {
      long sequence = next.getAndIncrement();
      int place = place(sequence);
      HeldLease before = places.get(place);
      if (before == null || before.ended()) {
        HeldLease held =
            new HeldLease(
                lease, prefill, this::ended, hold.id(), sequence, nonce, expiresAt, latest);
        if (places.compareAndSet(place, before, held)) {
          if (before != null) {
            forget(before);
          }
          expiresBy(expiresAt);
          return held;
        }
      }
    }
  }

  /** Whether a lease may have the id that its plane wants for it; one that has none may. */
  NamedLeases.Claim claim(Hold hold, long now) {
    return hold.id() == null ? NamedLeases.Claim.FREE : named.claim(hold.id(), now);
  }

  /** Makes a lease known by its id; if that is not free any more, it is given back. */
  NamedLeases.Claim named(HeldLease held, long now) {
    String name = held.name();
    if (name == null) {
      return NamedLeases.Claim.FREE;
    }
    NamedLeases.Claim claim = named.add(name, held, now);
    if (claim != NamedLeases.Claim.FREE) {
      held.settle(now, Outcome.IGNORED, EndReport.NONE);
    }
    if (places.get(place(held.sequence())) != held) {
      // It has ended, and its place was needed before it was known.
      forget(held);
    }
    return claim;
  }

  private void forget(HeldLease held) {
    String name = held.name();
    if (name != null) {
      named.remove(name, held);
    }
  }

  private int place(long sequence) {
    return (int) (sequence & (places.length() - 1));
  }

  private void expiresBy(long time) {
    if (time - firstExpiry.get() < 0) {
      firstExpiry.accumulateAndGet(time, (a, b) -> a - b < 0 ? a : b);
    }
  }

  HoldAnswer renew(String id, long now, Duration ttl, boolean answering) {
    HoldAnswer answer = with(id, now, (held, time) -> held.renew(time, ttl.toNanos(), answering));
    if (answer.kind() == HoldAnswer.Kind.DONE) {
      // It may expire sooner than before.
      expiresBy(now + answer.expiresInNanos());
    }
    return answer;
  }

  HoldAnswer confirm(String id, long now) {
    return with(id, now, HeldLease::confirm);
  }

  HoldAnswer prefilled(String id, long now, Outcome outcome) {
    return with(id, now, (held, time) -> held.prefilled(time, outcome));
  }

  HoldAnswer answered(String id, long now) {
    return with(id, now, HeldLease::answered);
  }

  HoldAnswer settle(String id, long now, Outcome outcome, EndReport report) {
    HeldLease held = Hold.isId(id) ? named.findToSettle(id, now) : find(id);
    return said(held, now, (each, time) -> each.settle(time, outcome, report));
  }

  /** Something that is said of a lease. */
  private interface Word {
    HoldAnswer say(HeldLease held, long now);
  }

  private HoldAnswer with(String id, long now, Word word) {
    return said(find(id), now, word);
  }

  private @Nullable HeldLease find(String id) {
    if (Hold.isId(id)) {
      return named.find(id);
    }
    long sequence = HeldIds.sequence(id);
    if (sequence == HeldIds.NONE) {
      return null;
    }
    HeldLease held = places.get(place(sequence));
    return held != null && held.is(sequence, HeldIds.nonce(id)) ? held : null;
  }

  private static HoldAnswer said(@Nullable HeldLease held, long now, Word word) {
    return held == null || held.expire(now) ? HoldAnswer.UNKNOWN : word.say(held, now);
  }

  private void ended(Outcome outcome, TokenCounts tokens) {
    open.decrementAndGet();
    if (outcome.equals(Outcome.EXPIRED)) {
      tally.expires();
    } else {
      tally.settled(outcome, tokens);
    }
  }

  /** Ends what is overdue by {@code now}, as expired; how many that were. */
  int expire(long now) {
    if (open.get() == 0 || now - firstExpiry.get() < 0) {
      return 0;
    }
    // What is held or put off while this goes on lowers it again.
    firstExpiry.set(farAfter(now));
    boolean whole = false;
    try {
      int count = expireAll(now);
      whole = true;
      return count;
    } finally {
      if (!whole) {
        // Whoever learns of an end has failed: the rest is for the next look.
        expiresBy(now);
      }
    }
  }

  private int expireAll(long now) {
    int count = 0;
    for (int place = 0; place < places.length(); place++) {
      HeldLease held = places.get(place);
      if (held == null) {
        continue;
      }
      if (held.expire(now)) {
        count++;
      } else if (!held.ended()) {
        expiresBy(held.expiresAt());
      }
    }
    return count;
  }
}
