package io.pointsman.engine.choice;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A lease for a request that an external proxy carries, from the choice to settlement or expiry.
 * Any thread; its fields are guarded by this. When it ends, it drops the engine's lease. The object
 * remains for a while to distinguish late settlements from unknown ids.
 */
final class ExternalLease {
  private enum State {
    CHOSEN,
    CONFIRMED,
    SETTLED,
    EXPIRED
  }

  /** Is called once when a lease has ended, before the learners, because these may throw. */
  @FunctionalInterface
  interface Ends {
    void ended(Outcome outcome, TokenCounts tokens);
  }

  private final Ends ends;
  private final @Nullable String name;
  private final int entry;
  private final String secret;
  private final long latest;
  private State state = State.CHOSEN;
  private long expiresAt;
  private @Nullable Lease lease;
  private final boolean split;

  /** The prefill lease; null without a split and after prefill has ended. */
  private @Nullable Lease prefill;

  /**
   * @param prefill the lease on the prefill worker; null if one worker serves the whole request
   * @param ends is called at the end, outside any lock
   * @param name the id that the proxy assigned; null if the router assigns one
   * @param entry index of the lease in the table, which its id names
   * @param secret makes the id hard to guess
   * @param expiresAt expiry by the engine's ticker
   * @param latest upper bound of the expiry after renewals
   */
  ExternalLease(
      Lease lease,
      @Nullable Lease prefill,
      Ends ends,
      @Nullable String name,
      int entry,
      String secret,
      long expiresAt,
      long latest) {
    this.ends = ends;
    this.name = name;
    this.lease = lease;
    this.prefill = prefill;
    split = prefill != null;
    this.entry = entry;
    this.secret = secret;
    this.expiresAt = expiresAt;
    this.latest = latest;
  }

  String id() {
    return name == null ? ExternalLeaseIds.format(entry, secret) : name;
  }

  /** The id that the proxy assigned; null if the router assigned one. */
  @Nullable String name() {
    return name;
  }

  /** Its entry in the table. */
  int entry() {
    return entry;
  }

  /** True if the router assigned an id with this secret. The time does not depend on it. */
  boolean is(String other) {
    return name == null && MessageDigest.isEqual(bytes(secret), bytes(other));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  synchronized boolean settled() {
    return state == State.SETTLED;
  }

  synchronized boolean ended() {
    return state == State.SETTLED || state == State.EXPIRED;
  }

  synchronized long expiresAt() {
    return expiresAt;
  }

  /**
   * Extends the lease, at most to its latest time.
   *
   * @param answering true if a good response has begun
   */
  LeaseResult renew(long now, long ttl, boolean answering) {
    Lease renewed;
    LeaseResult answer;
    synchronized (this) {
      LeaseResult over = over(now);
      if (over != null) {
        return over;
      }
      renewed = lease;
      expiresAt = now + Math.min(ttl, latest - now);
      answer = LeaseResult.goesOn(expiresAt - now);
    }
    if (renewed != null && answering) {
      renewed.answersWell();
    }
    return answer;
  }

  /** Confirms the dispatch, once. If a worker has left, ends the lease instead. */
  LeaseResult confirm(long now) {
    Parts gone;
    synchronized (this) {
      LeaseResult over = over(now);
      if (over != null) {
        return over;
      }
      if (state == State.CONFIRMED) {
        return LeaseResult.REPEATED;
      }
      if (present(lease) && (prefill == null || present(prefill))) {
        state = State.CONFIRMED;
        return LeaseResult.goesOn(expiresAt - now);
      }
      gone = end(State.SETTLED);
    }
    ends.ended(Outcome.IGNORED, TokenCounts.NONE);
    settle(gone, Outcome.IGNORED);
    return LeaseResult.WORKER_LEFT;
  }

  private static boolean present(@Nullable Lease lease) {
    return lease != null && !lease.worker().left();
  }

  /** Ends prefill and releases its worker, once. */
  LeaseResult prefilled(long now, Outcome outcome) {
    Lease ending;
    LeaseResult answer;
    synchronized (this) {
      LeaseResult over = over(now);
      if (over != null) {
        return over;
      }
      ending = prefill;
      if (ending == null) {
        return split ? LeaseResult.REPEATED : LeaseResult.NOT_SPLIT;
      }
      prefill = null;
      answer = LeaseResult.goesOn(expiresAt - now);
    }
    if (outcome instanceof Outcome.Succeeded(boolean served) && served) {
      // The prefill worker was asked for one token, so success means that the prompt is computed.
      ending.firstToken();
    }
    ending.settle(outcome);
    return answer;
  }

  /**
   * Reports the first token as the client sees it. Repeated calls have no effect. Does not postpone
   * the expiry.
   */
  LeaseResult answered(long now) {
    Lease answering;
    LeaseResult answer;
    synchronized (this) {
      LeaseResult over = over(now);
      if (over != null) {
        return over;
      }
      answering = lease;
      answer = LeaseResult.goesOn(expiresAt - now);
    }
    if (answering != null) {
      // Not reported as progress, because the proxy may report no further tokens.
      answering.reportedOutput();
      answering.firstToken();
      answering.answersWell();
    }
    return answer;
  }

  LeaseResult settle(long now, Outcome outcome, EndReport report) {
    Parts ending;
    synchronized (this) {
      LeaseResult over = over(now);
      if (over != null) {
        return over;
      }
      ending = end(State.SETTLED);
    }
    ends.ended(outcome, report.tokens());
    try {
      if (ending.lease != null) {
        ending.lease.reported(report.tokens().usage());
        Duration ttft = report.ttft();
        if (ttft != null) {
          ending.lease.firstTokenAfter(ttft.toNanos());
        }
        if (ttft != null && !(outcome instanceof Outcome.Failed)) {
          // The response had begun well, independent of the cause of its end.
          ending.lease.answersWell();
        }
        if (report.clientLeft()) {
          ending.awaited(ending.lease).clientLeft();
        }
      }
    } finally {
      settle(ending, outcome);
    }
    return LeaseResult.SETTLED;
  }

  /**
   * Ends the lease if it is overdue at {@code now}.
   *
   * @return true if this call ended it
   */
  boolean expire(long now) {
    Parts ending;
    synchronized (this) {
      if (ended() || now - expiresAt < 0) {
        return false;
      }
      ending = end(State.EXPIRED);
    }
    ends.ended(Outcome.EXPIRED, TokenCounts.NONE);
    settle(ending, Outcome.EXPIRED);
    return true;
  }

  /** Returns the answer for a lease that has ended; null if the lease is active. */
  private @Nullable LeaseResult over(long now) {
    return switch (state) {
      case SETTLED -> LeaseResult.REPEATED;
      case EXPIRED -> LeaseResult.UNKNOWN;
      case CHOSEN, CONFIRMED -> now - expiresAt >= 0 ? LeaseResult.UNKNOWN : null;
    };
  }

  /** The engine's leases: one, or two for a split request. */
  private record Parts(@Nullable Lease lease, @Nullable Lease prefill) {
    /** The lease of the worker that the client waits for: prefill's until it ends. */
    Lease awaited(Lease decode) {
      return prefill == null ? decode : prefill;
    }
  }

  private Parts end(State last) {
    Parts ending = new Parts(lease, prefill);
    lease = null;
    prefill = null;
    state = last;
    return ending;
  }

  /**
   * Settles the engine's leases outside the lock, because listeners may take time. A failure or
   * refusal belongs to the decode worker; prefill failures are reported separately.
   */
  private static void settle(Parts ending, Outcome outcome) {
    try {
      if (ending.prefill != null) {
        ending.prefill.settle(
            switch (outcome) {
              case Outcome.Succeeded _ -> Outcome.SUCCEEDED;
              case Outcome.Failed _ -> Outcome.IGNORED;
              case Outcome.Ignored _ -> outcome;
            });
      }
    } finally {
      if (ending.lease != null) {
        ending.lease.settle(outcome);
      }
    }
  }
}
