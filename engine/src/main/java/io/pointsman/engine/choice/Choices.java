package io.pointsman.engine.choice;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The engine for planes that carry the bytes themselves, in this process or in another: they
 * choose, confirm that the request was sent, renew, and settle. Every choice goes through the same
 * policies and the same accounting as those of the built-in proxy, and teaches the same learners;
 * what is held is load like any other. A plane that dies gives nothing back, so a lease that nobody
 * speaks of in time ends by itself, as one of which nothing can be said.
 *
 * <p>A held lease owes no sign of progress: its answer passes by another way, which the request is
 * marked with. Free of I/O; safe for use by any number of threads. Somebody must call {@link
 * #expireDue} from time to time.
 */
public final class Choices {
  private final RoutingEngine engine;
  private final HoldSettings settings;
  private final Ticker ticker;
  private final HeldLeases leases;

  /**
   * @param ticker the engine's
   * @param dice makes ids of leases hard to hit by chance
   */
  public Choices(RoutingEngine engine, HoldSettings settings, Ticker ticker, Dice dice) {
    this.engine = requireNonNull(engine, "engine");
    this.settings = requireNonNull(settings, "settings");
    this.ticker = requireNonNull(ticker, "ticker");
    leases = new HeldLeases(settings, dice, ticker.nanos());
  }

  public HoldSettings settings() {
    return settings;
  }

  /** What became of the leases so far. */
  public HoldTally tally() {
    return leases.tally();
  }

  /** Leases held now. */
  public int open() {
    return leases.open();
  }

  /**
   * Chooses a worker and holds a place on it.
   *
   * @param ttl how long without a further word; more than 0, at most {@link HoldSettings#maxTtl}
   * @throws IllegalArgumentException if {@code ttl} is out of its range
   */
  public Choice choose(RoutingRequest request, Duration ttl) {
    return choose(request, Hold.of(ttl));
  }

  /**
   * The same under an id of the plane's own. One that was settled already holds nothing, and
   * nothing is decided for it: its plane has given the question up before it was answered.
   */
  public Choice choose(RoutingRequest request, Hold hold) {
    check(hold.ttl());
    Choice barred = barred(hold);
    if (barred != null) {
      return barred;
    }
    request.passesElsewhere();
    return switch (engine.decide(request)) {
      case Decision.Routed(Lease lease) -> hold(lease, hold);
      case Decision.Rejected rejected -> new Choice.Refused(rejected);
    };
  }

  /** Why nothing can be held whatever is chosen; null if something can. */
  @Nullable Choice barred(Hold hold) {
    NamedLeases.Claim claim = leases.claim(hold, ticker.nanos());
    if (claim != NamedLeases.Claim.FREE) {
      return taken(hold, claim);
    }
    return leases.full() ? tooMany() : null;
  }

  private static Choice taken(Hold hold, NamedLeases.Claim claim) {
    return new Choice.IdTaken(String.valueOf(hold.id()), claim == NamedLeases.Claim.SETTLED);
  }

  /** Holds a lease that is neither settled nor reserved. */
  Choice hold(Lease lease, Hold hold) {
    lease.reserve();
    return hold(lease, null, hold);
  }

  /** Holds what owes no sign of progress; where that cannot be, all is given back. */
  Choice hold(Lease lease, @Nullable Lease prefill, Hold hold) {
    HeldLease held = held(lease, prefill, hold);
    if (held == null) {
      return tooMany();
    }
    NamedLeases.Claim claim = leases.named(held, ticker.nanos());
    return claim == NamedLeases.Claim.FREE
        ? new Choice.Held(lease.worker(), held.id(), hold.ttl().toNanos())
        : taken(hold, claim);
  }

  private @Nullable HeldLease held(Lease lease, @Nullable Lease prefill, Hold hold) {
    @Nullable HeldLease held = null;
    try {
      held = leases.hold(lease, prefill, ticker.nanos(), hold);
    } finally {
      if (held == null) {
        lease.ignored();
        if (prefill != null) {
          prefill.ignored();
        }
      }
    }
    return held;
  }

  private Choice tooMany() {
    leases.tally().refuses();
    return new Choice.TooManyHeld(leases.untilExpiry(ticker.nanos()));
  }

  /**
   * Chooses a worker for a plane that will not say how it ended. Teaches policies as a request that
   * is sent at once; counts for load no longer than the choice itself.
   */
  public Choice point(RoutingRequest request) {
    request.passesElsewhere();
    return switch (engine.decide(request)) {
      case Decision.Routed(Lease lease) -> pointed(lease);
      case Decision.Rejected rejected -> new Choice.Refused(rejected);
    };
  }

  static Choice pointed(Lease lease) {
    Worker worker = lease.worker();
    lease.settle(Outcome.POINTED);
    return new Choice.Pointed(worker);
  }

  /**
   * The request that a place is held for is about to be sent. Once only: two senders of one request
   * have lost track of it. Does not put the expiry off.
   */
  public HoldAnswer confirm(String lease) {
    return leases.confirm(lease, ticker.nanos());
  }

  /**
   * The request is still under way: holds the lease for {@code ttl} from now, at most up to its
   * longest life.
   *
   * @throws IllegalArgumentException if {@code ttl} is out of its range
   */
  public HoldAnswer renew(String lease, Duration ttl) {
    return renew(lease, ttl, false);
  }

  /**
   * The same of a request whose answer may have begun.
   *
   * @param answering whether the head of a good answer has come: a breaker's trial has succeeded
   *     with that, however long the rest takes
   * @throws IllegalArgumentException if {@code ttl} is out of its range
   */
  public HoldAnswer renew(String lease, Duration ttl, boolean answering) {
    check(ttl);
    return leases.renew(lease, ticker.nanos(), ttl, answering);
  }

  /**
   * Where two workers serve the request: prefill has ended, well or not, and its worker is free of
   * it. Once only. The rest of the lease goes on; it does not put the expiry off.
   */
  public HoldAnswer prefilled(String lease, Outcome outcome) {
    return leases.prefilled(lease, ticker.nanos(), outcome);
  }

  /**
   * The first token of the request's answer has come: what policies learn from it they would
   * otherwise have to guess. Can be said again without effect; does not put the expiry off.
   */
  public HoldAnswer firstToken(String lease) {
    return leases.answered(lease, ticker.nanos());
  }

  /**
   * The request has ended, and with it prefill, if nobody said so before. What is said of an id of
   * a plane's own that no lease has yet is remembered for half a minute: the choice that comes then
   * holds nothing.
   */
  public HoldAnswer settle(String lease, Outcome outcome, TokenCounts tokens) {
    return settle(lease, outcome, new EndReport(tokens, null));
  }

  /** The same with everything that the plane knows. */
  public HoldAnswer settle(String lease, Outcome outcome, EndReport report) {
    return leases.settle(lease, ticker.nanos(), outcome, report);
  }

  /** Ends leases that are overdue; how many. None ends before the time that was told. */
  public int expireDue() {
    return leases.expire(ticker.nanos());
  }

  void check(Duration ttl) {
    if (!ttl.isPositive() || ttl.compareTo(settings.maxTtl()) > 0) {
      throw new IllegalArgumentException(
          "ttl: " + ttl + " (expected: > 0, at most " + settings.maxTtl() + ")");
    }
  }
}
