package io.pointsman.engine.choice;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The engine's interface for external proxies, in this process or another. They choose a worker,
 * confirm the dispatch, renew the lease, and settle it. Choices use the policies, the accounting
 * and the learners of the built-in proxy. A held lease counts as load. A lease that is neither
 * renewed nor settled in time expires with the outcome {@link Outcome#EXPIRED}, because its proxy
 * may have died.
 *
 * <p>A held lease is excluded from stall detection, because its response does not pass through the
 * router. The request is marked accordingly. The class does no I/O, and any number of threads may
 * use it. The owner must call {@link #expireDue} periodically.
 */
public final class Choices {
  private final RoutingEngine engine;
  private volatile ExternalLeaseSettings settings;
  private final Ticker ticker;
  private final ExternalLeases leases;

  /**
   * @param ticker the engine's ticker
   * @param random makes lease ids impossible to guess; from a cryptographic generator
   */
  public Choices(
      RoutingEngine engine, ExternalLeaseSettings settings, Ticker ticker, RandomSource random) {
    this.engine = requireNonNull(engine, "engine");
    this.settings = requireNonNull(settings, "settings");
    this.ticker = requireNonNull(ticker, "ticker");
    leases = new ExternalLeases(settings, random, ticker.nanos());
  }

  /**
   * Uses other limits for later leases and renewals. Open leases stay, also if there are more than
   * the new maximum; the next lease then waits until enough of them have ended.
   */
  public void use(ExternalLeaseSettings next) {
    leases.use(next);
    settings = next;
  }

  public ExternalLeaseSettings settings() {
    return settings;
  }

  /** Counts of the leases by their endings. */
  public ExternalLeaseTally tally() {
    return leases.tally();
  }

  /** The number of leases held now. */
  public int open() {
    return leases.open();
  }

  /**
   * Chooses a worker and holds a lease on it.
   *
   * @param ttl lease duration without renewal; more than 0, at most {@link
   *     ExternalLeaseSettings#maxTtl}
   * @throws IllegalArgumentException if {@code ttl} is out of range
   */
  public Choice choose(RoutingRequest request, Duration ttl) {
    return choose(request, LeaseTerms.of(ttl));
  }

  /**
   * Chooses a worker and holds a lease, optionally under the proxy's own id. If that id is settled
   * already, no decision is made: the proxy gave up before the answer.
   */
  public Choice choose(RoutingRequest request, LeaseTerms terms) {
    check(terms.ttl());
    Choice barred = barred(terms);
    if (barred != null) {
      return barred;
    }
    request.passesElsewhere();
    return switch (engine.decide(request)) {
      case Decision.Routed(Lease lease) -> hold(lease, terms);
      case Decision.Rejected rejected -> new Choice.Refused(rejected);
    };
  }

  /**
   * Returns the reason why no lease can be held, independent of the worker; null if one can be
   * held.
   */
  public @Nullable Choice barred(LeaseTerms terms) {
    NamedLeases.IdClaim claim = leases.claim(terms, ticker.nanos());
    if (claim != NamedLeases.IdClaim.FREE) {
      return taken(terms, claim);
    }
    return leases.full(terms.owner()) ? tooMany() : null;
  }

  private static Choice taken(LeaseTerms terms, NamedLeases.IdClaim claim) {
    return new Choice.IdTaken(String.valueOf(terms.id()), claim == NamedLeases.IdClaim.SETTLED);
  }

  /** Holds the lease of a request that another proxy carries. If that fails, gives it back. */
  public Choice hold(Lease lease, LeaseTerms terms) {
    return hold(lease, null, terms);
  }

  /** Holds the leases of a request that another proxy carries. If that fails, gives all back. */
  public Choice hold(Lease lease, @Nullable Lease prefill, LeaseTerms terms) {
    ExternalLease held = held(lease, prefill, terms);
    if (held == null) {
      return tooMany();
    }
    NamedLeases.IdClaim claim = leases.named(held, ticker.nanos());
    return claim == NamedLeases.IdClaim.FREE
        ? new Choice.Leased(lease.worker(), held.id(), terms.ttl().toNanos())
        : taken(terms, claim);
  }

  private @Nullable ExternalLease held(Lease lease, @Nullable Lease prefill, LeaseTerms terms) {
    @Nullable ExternalLease held = null;
    try {
      held = leases.hold(lease, prefill, ticker.nanos(), terms);
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
    return new Choice.TooManyLeases(leases.untilExpiry(ticker.nanos()));
  }

  /**
   * Chooses a worker for a proxy that does not report the end of the request. Learners treat the
   * request as sent. It counts as load only during the choice.
   */
  public Choice point(RoutingRequest request) {
    request.passesElsewhere();
    return switch (engine.decide(request)) {
      case Decision.Routed(Lease lease) -> pointed(lease);
      case Decision.Rejected rejected -> new Choice.Refused(rejected);
    };
  }

  public static Choice pointed(Lease lease) {
    Worker worker = lease.worker();
    lease.settle(Outcome.POINTED);
    return new Choice.Pointed(worker);
  }

  /**
   * Reports that the proxy is about to send the request. Allowed once: a second confirmation means
   * that two senders handle one request. Does not postpone the expiry.
   */
  public LeaseResult confirm(String lease) {
    return leases.confirm(lease, ticker.nanos());
  }

  /**
   * Reports that the request is still in progress and extends the lease to {@code ttl} from now.
   * The lease cannot exceed its maximum lifetime.
   *
   * @throws IllegalArgumentException if {@code ttl} is out of range
   */
  public LeaseResult renew(String lease, Duration ttl) {
    return renew(lease, ttl, false);
  }

  /**
   * Extends the lease and reports whether the response has begun.
   *
   * @param answering true if the head of a good response has arrived. A circuit breaker's probe
   *     then counts as successful.
   * @throws IllegalArgumentException if {@code ttl} is out of range
   */
  public LeaseResult renew(String lease, Duration ttl, boolean answering) {
    check(ttl);
    return leases.renew(lease, ticker.nanos(), ttl, answering);
  }

  /**
   * Reports the end of prefill, successful or not, and releases the prefill worker. Allowed once.
   * The rest of the lease continues with the same expiry.
   */
  public LeaseResult prefilled(String lease, Outcome outcome) {
    return leases.prefilled(lease, ticker.nanos(), outcome);
  }

  /**
   * Reports the first token of the response to the learners, which otherwise estimate its time.
   * Repeated calls have no effect. Does not postpone the expiry.
   */
  public LeaseResult firstToken(String lease) {
    return leases.answered(lease, ticker.nanos());
  }

  /**
   * Reports the end of the request, including prefill if that was not reported. An early settlement
   * of an unknown id of a proxy is remembered for 30 seconds. A choice under this id then holds no
   * lease.
   */
  public LeaseResult settle(String lease, Outcome outcome, TokenCounts tokens) {
    return settle(lease, outcome, new EndReport(tokens, null));
  }

  /** Reports the end of the request with the token counts and the time to the first token. */
  public LeaseResult settle(String lease, Outcome outcome, EndReport report) {
    return leases.settle(lease, ticker.nanos(), outcome, report);
  }

  /**
   * Ends overdue leases. None ends before its reported expiry.
   *
   * @return the number of leases ended
   */
  public int expireDue() {
    return leases.expire(ticker.nanos());
  }

  public void check(Duration ttl) {
    if (!ttl.isPositive() || ttl.compareTo(settings.maxTtl()) > 0) {
      throw new IllegalArgumentException(
          "ttl: " + ttl + " (expected: > 0, at most " + settings.maxTtl() + ")");
    }
  }
}
