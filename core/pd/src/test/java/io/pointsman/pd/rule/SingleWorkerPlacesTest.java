package io.pointsman.pd.rule;

import static io.pointsman.pd.rule.PdTestFleet.facts;
import static io.pointsman.pd.rule.PdTestFleet.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.RejectReason;
import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.rule.Placement.Single;
import io.pointsman.pd.rule.SplitDecision.Refused;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The workers that a request which must be served whole waits for. */
class SingleWorkerPlacesTest {
  private static Refused refused(PdTestFleet fleet, SplitRequest request) {
    return (Refused) fleet.router.decide(request);
  }

  private static PdTestFleet fleet(boolean decodeServes, boolean prefillServes) {
    SplitSettings settings = new SplitSettings(0, 0, 2, 8, 0, decodeServes, prefillServes, false);
    return new PdTestFleet(settings, 0, 0);
  }

  /** The request is served when they return, so it is not refused permanently. */
  @Test
  void aRequestOnlyForPrefillWorkersWaitsForThem() {
    PdTestFleet fleet = fleet(false, true);
    fleet.add("p0", Role.PREFILL, 1);
    fleet.add("d0", Role.DECODE, 0);
    SplitRequest choices = request(4, facts(2, 64));
    Single placed = fleet.single(fleet.router.decide(choices));
    assertThat(placed.lease().worker().id()).isEqualTo("p0");

    Refused busy = refused(fleet, choices);
    assertThat(busy.missing()).isEqualTo(Role.PREFILL);
    assertThat(busy.rejection().reason()).isEqualTo(RejectReason.ALL_BUSY);
    Refused behind = (Refused) fleet.router.decideBehind(choices, Set.of(Role.PREFILL));
    assertThat(behind.rejection().reason()).isEqualTo(RejectReason.ALL_BUSY);
    placed.lease().succeeded();
    fleet.kill("p0");
    assertThat(refused(fleet, choices).rejection().reason()).isEqualTo(RejectReason.NONE_AVAILABLE);
  }

  @Test
  void aRequestThatNoPresentWorkerMayServeIsRefused() {
    PdTestFleet fleet = fleet(false, true);
    fleet.add("d0", Role.DECODE, 0);

    assertThat(refused(fleet, request(4, facts(2, 64))).rejection().reason())
        .isEqualTo(RejectReason.UNSPLITTABLE);
  }

  /** Other workers would trust the body, which the router has not inspected. */
  @Test
  void aRequestForRegularWorkersWaitsDespiteIdleOthers() {
    PdTestFleet fleet = fleet(true, true);
    fleet.add("p0", Role.PREFILL, 0);
    fleet.add("d0", Role.DECODE, 0);
    SplitRequest hidden = request(4, SplitFacts.unreadable(null));
    hidden.onlyForRegular();

    Refused alone = refused(fleet, hidden);
    assertThat(alone.missing()).isEqualTo(Role.REGULAR);
    assertThat(alone.rejection().reason()).isEqualTo(RejectReason.UNSPLITTABLE);
    fleet.add("r0", Role.REGULAR, 1);
    Single placed = fleet.single(fleet.router.decide(hidden));
    assertThat(placed.lease().worker().id()).isEqualTo("r0");
    Refused busy = refused(fleet, hidden);
    assertThat(busy.missing()).isEqualTo(Role.REGULAR);
    assertThat(busy.rejection().reason()).isEqualTo(RejectReason.ALL_BUSY);
    placed.lease().succeeded();
    fleet.kill("r0");
    assertThat(refused(fleet, hidden).rejection().reason()).isEqualTo(RejectReason.NONE_AVAILABLE);
  }
}
