package io.pointsman.engine.choice;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A lease whose request another plane carries, from the choice to the plane's last word, or to the
 * time when that is overdue. Any thread; its fields are guarded by itself. It lets go of the lease
 * when it ends, and is kept for a while to tell late words from wrong ones.
 */
final class HeldLease {
  private enum State {
    CHOSEN,
    CONFIRMED,
    SETTLED,
    EXPIRED
  }

  /** Hears, once, that a lease has ended; before those who learn from it, who may fail. */
  @FunctionalInterface
  interface Ends {
    void ended(Outcome outcome, TokenCounts tokens);
  }

  private final Ends ends;
  private final @Nullable String name;
  private final long sequence;
  private final long nonce;
  private final long latest;
  private State state = State.CHOSEN;
  private long expiresAt;
  private @Nullable Lease lease;
  private final boolean split;

  /** Null too once prefill has ended. */
  private @Nullable Lease prefill;

  /**
   * @param prefill the lease on the worker for prefill, if another one serves that
   * @param ends hears of the end outside of any lock
   * @param name the id that its plane has given it; null if it has one of ours
   * @param sequence which lease it is, counted from the first one on
   * @param nonce makes its id hard to hit by chance
   * @param expiresAt by the engine's ticker
   * @param latest the time that no renewal leads beyond
   */
  HeldLease(
      Lease lease,
      @Nullable Lease prefill,
      Ends ends,
      @Nullable String name,
      long sequence,
      long nonce,
      long expiresAt,
      long latest) {
    this.ends = ends;
    this.name = name;
    this.lease = lease;
    this.prefill = prefill;
    split = prefill != null;
    this.sequence = sequence;
    this.nonce = nonce;
    this.expiresAt = expiresAt;
    this.latest = latest;
  }

  String id() {
    return name == null ? HeldIds.format(sequence, nonce) : name;
  }

  /** The id that its plane has given it. */
  @Nullable String name() {
    return name;
  }

  long sequence() {
    return sequence;
  }

  boolean is(long sequence, long nonce) {
    return name == null && this.sequence == sequence && this.nonce == nonce;
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
   * Puts the expiry off, never beyond the latest.
   *
   * @param answering whether a good answer has begun
   */
  HoldAnswer renew(long now, long ttl, boolean answering) {
    Lease renewed;
    HoldAnswer answer;
    synchronized (this) {
      HoldAnswer over = over(now);
      if (over != null) {
        return over;
      }
      renewed = lease;
      expiresAt = now + Math.min(ttl, latest - now);
      answer = HoldAnswer.goesOn(expiresAt - now);
    }
    if (renewed != null && answering) {
      renewed.answersWell();
    }
    return answer;
  }

  /** The request is sent; once only, and not to a worker that has left. */
  HoldAnswer confirm(long now) {
    Parts gone;
    synchronized (this) {
      HoldAnswer over = over(now);
      if (over != null) {
        return over;
      }
      if (state == State.CONFIRMED) {
        return HoldAnswer.REPEATED;
      }
      if (present(lease) && (prefill == null || present(prefill))) {
        state = State.CONFIRMED;
        return HoldAnswer.goesOn(expiresAt - now);
      }
      gone = end(State.SETTLED);
    }
    ends.ended(Outcome.IGNORED, TokenCounts.NONE);
    settle(gone, Outcome.IGNORED);
    return HoldAnswer.WORKER_LEFT;
  }

  private static boolean present(@Nullable Lease lease) {
    return lease != null && !lease.worker().left();
  }

  /** Prefill has ended, so that its worker is free of it; once only. */
  HoldAnswer prefilled(long now, Outcome outcome) {
    Lease ending;
    HoldAnswer answer;
    synchronized (this) {
      HoldAnswer over = over(now);
      if (over != null) {
        return over;
      }
      ending = prefill;
      if (ending == null) {
        return split ? HoldAnswer.REPEATED : HoldAnswer.NOT_SPLIT;
      }
      prefill = null;
      answer = HoldAnswer.goesOn(expiresAt - now);
    }
    if (outcome instanceof Outcome.Succeeded(boolean served) && served) {
      // With the one token that it was asked for the prompt is computed.
      ending.firstToken();
    }
    ending.settle(outcome);
    return answer;
  }

  /**
   * The first token has come, as the client sees it; of no effect the second time. Does not put the
   * expiry off.
   */
  HoldAnswer answered(long now) {
    Lease answering;
    HoldAnswer answer;
    synchronized (this) {
      HoldAnswer over = over(now);
      if (over != null) {
        return over;
      }
      answering = lease;
      answer = HoldAnswer.goesOn(expiresAt - now);
    }
    if (answering != null) {
      // No sign of progress: nobody promises another.
      answering.firstToken();
      answering.answersWell();
    }
    return answer;
  }

  HoldAnswer settle(long now, Outcome outcome, EndReport report) {
    Parts ending;
    synchronized (this) {
      HoldAnswer over = over(now);
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
          // It had begun well, whoever broke it off.
          ending.lease.answersWell();
        }
      }
    } finally {
      settle(ending, outcome);
    }
    return HoldAnswer.SETTLED;
  }

  /** Ends it if its time is over by {@code now}; whether that ended it. */
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

  /** Why nothing more can be said of it; null if something can. */
  private @Nullable HoldAnswer over(long now) {
    return switch (state) {
      case SETTLED -> HoldAnswer.REPEATED;
      case EXPIRED -> HoldAnswer.UNKNOWN;
      case CHOSEN, CONFIRMED -> now - expiresAt >= 0 ? HoldAnswer.UNKNOWN : null;
    };
  }

  /** What is held: one lease, or two. */
  private record Parts(@Nullable Lease lease, @Nullable Lease prefill) {}

  private Parts end(State last) {
    Parts ending = new Parts(lease, prefill);
    lease = null;
    prefill = null;
    state = last;
    return ending;
  }

  /**
   * Outside the lock: those who hear of it may take their time. A failure or a refusal is the
   * decode worker's: that of prefill is told by itself.
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
