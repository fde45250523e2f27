package io.pointsman.pd.choice;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.choice.LeaseTerms;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.protocol.ForeignFields;
import io.pointsman.pd.protocol.PdProtocol;
import io.pointsman.pd.rule.Placement;
import io.pointsman.pd.rule.SplitDecision;
import io.pointsman.pd.rule.SplitRequest;
import io.pointsman.pd.rule.SplitRouter;
import io.pointsman.pd.rule.SplitRule;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * {@link Choices} for a fleet with prefill and decode workers. Chooses one or two workers and plans
 * the requests to both by the protocol. One lease covers both workers. Its prefill part ends with
 * {@link Choices#prefilled}, or else with the lease. Renewing, confirming, settling and expiring
 * are operations of {@link Choices}.
 *
 * <p>Some protocols notify the router between prefill and decode. An external proxy cannot execute
 * these, so one worker serves the whole request if possible. The class does no I/O, and any number
 * of threads may use it.
 */
public final class SplitChoices {
  /** Maximum number of worker pairs tried until one can be planned. */
  private static final int MOST_UNPLANNED = 64;

  private final Choices choices;
  private final SplitRouter router;
  private final PdProtocol protocol;
  private final RandomSource random;

  /**
   * @param choices holds the leases
   * @param random for ids of handovers
   */
  public SplitChoices(
      Choices choices, SplitRouter router, PdProtocol protocol, RandomSource random) {
    this.choices = requireNonNull(choices, "choices");
    this.router = requireNonNull(router, "router");
    this.protocol = requireNonNull(protocol, "protocol");
    this.random = requireNonNull(random, "random");
  }

  /**
   * A request as the client sent it.
   *
   * @param path the request target
   * @param id the client's request id, or a generated one
   */
  public record Asked(SplitRequest request, String path, String id) {}

  /**
   * Chooses workers and holds a lease on each.
   *
   * @param ttl lease duration without renewal; more than 0, at most {@link
   *     ExternalLeaseSettings#maxTtl}
   * @throws IllegalArgumentException if {@code ttl} is out of range
   */
  public SplitChoice choose(Asked asked, Duration ttl) {
    return choose(asked, LeaseTerms.of(ttl));
  }

  /**
   * Chooses workers and holds the leases, optionally under the proxy's own id, as {@link
   * Choices#choose(RoutingRequest, LeaseTerms)} does.
   */
  public SplitChoice choose(Asked asked, LeaseTerms terms) {
    choices.check(terms.ttl());
    Choice barred = choices.barred(terms);
    return barred == null ? decide(asked, terms) : none(asked, barred);
  }

  /**
   * Chooses workers for a proxy that does not report the end of the request, as {@link
   * Choices#point} does.
   */
  public SplitChoice point(Asked asked) {
    return decide(asked, null);
  }

  /**
   * Shows the workers for a request that nobody sends. The leases end before the answer, and the
   * prompt does not count as cached.
   */
  public SplitChoice preview(Asked asked) {
    asked.request.previewOnly();
    return decide(asked, null);
  }

  /**
   * @param terms null if no lease is held
   */
  private SplitChoice decide(Asked asked, @Nullable LeaseTerms terms) {
    SplitRequest request = asked.request;
    request.passesElsewhere();
    SplitDecision decision = router.decide(request);
    boolean needsRouter = false;
    for (int unplanned = 0; unplanned < MOST_UNPLANNED; ) {
      switch (decision) {
        case SplitDecision.Placed(Placement.Single(Lease lease, SplitRule rule)) -> {
          return whole(request, lease, rule, needsRouter, terms);
        }
        case SplitDecision.Refused refused -> {
          if (!request.isPreview()) {
            router.refused(request, refused);
          }
          return none(asked, new Choice.Refused(refused.rejection()));
        }
        case SplitDecision.Placed(Placement.Split split) -> {
          PdPlan plan = planned(asked, split);
          if (plan instanceof PdPlan.Unplanned(Worker worker, _)) {
            giveBack(split);
            if (worker == split.prefill().worker()) {
              request.prefill().exclude(worker);
            } else {
              request.unplannable(worker);
            }
            unplanned++;
            decision = router.decide(request);
          } else if (plan instanceof PdPlan.Sequential sequential && sequential.await() != null) {
            giveBack(split);
            needsRouter = true;
            decision = router.withoutPrefill(request);
          } else {
            return two(asked, split, plan, terms);
          }
        }
      }
    }
    return refusedAfterAll(asked, decision);
  }

  /**
   * Refuses the request after {@link #MOST_UNPLANNED} pairs without a plan, and gives the last
   * choice back.
   */
  private SplitChoice refusedAfterAll(Asked asked, SplitDecision last) {
    switch (last) {
      case SplitDecision.Placed(Placement.Single(Lease lease, _)) -> lease.ignored();
      case SplitDecision.Placed(Placement.Split split) -> giveBack(split);
      case SplitDecision.Refused _ -> {}
    }
    Decision.Rejected rejection = new Decision.Rejected(RejectReason.NONE_AVAILABLE, 0);
    router.refused(asked.request, new SplitDecision.Refused(Role.PREFILL, rejection));
    return none(asked, new Choice.Refused(rejection));
  }

  private static SplitChoice none(Asked asked, Choice choice) {
    return new SplitChoice.One(choice, asked.request.whole(), null, false);
  }

  private SplitChoice whole(
      SplitRequest request,
      Lease lease,
      SplitRule rule,
      boolean needsRouter,
      @Nullable LeaseTerms terms) {
    RoutingRequest by =
        switch (lease.worker().spec().role()) {
          case REGULAR -> request.whole();
          case DECODE -> request.decode();
          case PREFILL -> request.wholeByPrefill();
        };
    if (request.isPreview()) {
      lease.ignored();
      return new SplitChoice.One(new Choice.Pointed(lease.worker()), by, rule, needsRouter);
    }
    Choice choice = terms == null ? Choices.pointed(lease) : choices.hold(lease, terms);
    boolean placed = choice instanceof Choice.Leased || choice instanceof Choice.Pointed;
    return new SplitChoice.One(choice, by, placed ? rule : null, needsRouter);
  }

  private SplitChoice two(
      Asked asked, Placement.Split split, PdPlan plan, @Nullable LeaseTerms terms) {
    Worker prefill = split.prefill().worker();
    Worker decode = split.decode().worker();
    if (asked.request.isPreview()) {
      giveBack(split);
      return new SplitChoice.Two(prefill, decode, plan, null, 0);
    }
    if (terms == null) {
      split.prefill().settle(Outcome.POINTED);
      split.decode().settle(Outcome.POINTED);
      return new SplitChoice.Two(prefill, decode, plan, null, 0);
    }
    Choice choice = choices.hold(split.decode(), split.prefill(), terms);
    return choice instanceof Choice.Leased(_, String lease, long expiresInNanos)
        ? new SplitChoice.Two(prefill, decode, plan, lease, expiresInNanos)
        : none(asked, choice);
  }

  private PdPlan planned(Asked asked, Placement.Split split) {
    @Nullable PdPlan plan = null;
    try {
      plan = protocol.plan(described(asked), split.prefill().worker(), split.decode().worker());
      return plan;
    } finally {
      if (plan == null) {
        giveBack(split);
      }
    }
  }

  /**
   * Names no handover of a previous turn: the decode worker's response does not pass through the
   * router.
   */
  private PdRequest described(Asked asked) {
    PdEndpoint endpoint = asked.request.facts().endpoint();
    if (endpoint == null) {
      throw new IllegalStateException("split without an endpoint that can be");
    }
    String id = ForeignFields.names(asked.id) ? nonce() : asked.id;
    return new PdRequest(endpoint, asked.path, id, nonce(), null, asked.request.facts());
  }

  private String nonce() {
    StringBuilder hex = new StringBuilder(32);
    while (hex.length() < 32) {
      hex.append("%04x".formatted(random.roll(1 << 16)));
    }
    return hex.toString();
  }

  private static void giveBack(Placement.Split split) {
    split.prefill().ignored();
    split.decode().ignored();
  }
}
