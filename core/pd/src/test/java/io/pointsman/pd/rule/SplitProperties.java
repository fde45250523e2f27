package io.pointsman.pd.rule;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.rule.Placement.Single;
import io.pointsman.pd.rule.Placement.Split;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** For any order of events, the number in flight equals the open leases, and ends at zero. */
class SplitProperties {
  private static final Outcome[] ENDS = {
    Outcome.SUCCEEDED, Outcome.IGNORED, new Outcome.Failed(Failure.ERROR)
  };

  @Property(tries = 200)
  void requestsInFlightEqualOpenLeases(
      @ForAll @Size(max = 120) List<@IntRange(max = 9_999) Integer> steps,
      @ForAll boolean decodeServes,
      @ForAll boolean whenBusy) {
    PdTestFleet fleet =
        new PdTestFleet(
            new SplitSettings(100, 64, 0.9, 2, 5000, decodeServes, whenBusy, whenBusy), 2, 1);
    fleet.add("full", Role.DECODE, 2);
    fleet.add("once", Role.PREFILL, 1);
    Open open = new Open(fleet);
    for (int step : steps) {
      open.step(step);
      for (Worker worker : fleet.workers.fleet.snapshot().workers()) {
        assertThat(worker.inFlight()).isEqualTo(open.count(worker)).isNotNegative();
        assertThat(worker.reserved()).isEqualTo(open.reserved(worker));
        worker.probed(true);
      }
    }
    List.copyOf(open.leases).forEach(Lease::ignored);
    for (Worker worker : fleet.workers.fleet.snapshot().workers()) {
      assertThat(worker.inFlight()).isZero();
      assertThat(worker.reserved()).isZero();
      assertThat(worker.pendingTokens()).isZero();
    }
    assertThat(fleet.settled).isEqualTo(fleet.routed);
  }

  /** The leases that a proxy holds. */
  private static final class Open {
    private final PdTestFleet fleet;
    private final List<Lease> leases = new ArrayList<>();
    private final List<Lease> unsent = new ArrayList<>();
    private final List<Split> splits = new ArrayList<>();
    private final List<SplitRequest> requests = new ArrayList<>();

    Open(PdTestFleet fleet) {
      this.fleet = fleet;
    }

    long count(Worker worker) {
      return leases.stream().filter(lease -> lease.worker() == worker).count();
    }

    long reserved(Worker worker) {
      return unsent.stream().filter(lease -> lease.worker() == worker).count();
    }

    void step(int step) {
      int argument = step / 10;
      switch (step % 10) {
        case 0, 1, 2 -> {
          SplitRequest request = PdTestFleet.request(1 + argument % 40);
          took(request, fleet.router.decide(request));
        }
        case 3 -> prefillAgain(argument);
        case 4 -> decodeAgain(argument);
        case 5 -> {
          if (!leases.isEmpty()) {
            Lease lease = leases.get(argument % leases.size());
            lease.dispatched();
            unsent.remove(lease);
          }
        }
        case 6 -> {
          if (!leases.isEmpty()) {
            Lease lease = leases.get(argument % leases.size());
            lease.progressed();
            unsent.remove(lease);
          }
        }
        default -> {
          if (!leases.isEmpty()) {
            end(leases.get(argument % leases.size()), argument);
          }
        }
      }
    }

    private void end(Lease lease, int argument) {
      leases.remove(lease);
      unsent.remove(lease);
      assertThat(lease.settle(ENDS[argument % ENDS.length])).isTrue();
    }

    private void took(SplitRequest request, SplitDecision decision) {
      switch (decision) {
        case SplitDecision.Refused _ -> {}
        case SplitDecision.Placed(Single single) -> leases.add(single.lease());
        case SplitDecision.Placed(Split split) -> {
          leases.add(split.prefill());
          leases.add(split.decode());
          unsent.add(split.decode());
          splits.add(split);
          requests.add(request);
        }
      }
    }

    /** Prefill fails while decode waits. */
    private void prefillAgain(int argument) {
      int i = splits.isEmpty() ? -1 : argument % splits.size();
      if (i < 0 || !leases.contains(splits.get(i).prefill())) {
        return;
      }
      Split before = splits.remove(i);
      SplitRequest request = requests.remove(i);
      end(before.prefill(), 2);
      if (unsent.contains(before.decode())) {
        leases.remove(before.decode());
        unsent.remove(before.decode());
        request.prefill().exclude(before.prefill().worker());
        took(request, fleet.router.prefillAgain(request, before.decode()));
      }
    }

    private void decodeAgain(int argument) {
      int i = splits.isEmpty() ? -1 : argument % splits.size();
      if (i >= 0 && leases.contains(splits.get(i).decode())) {
        Split before = splits.remove(i);
        SplitRequest request = requests.remove(i);
        end(before.decode(), 2);
        request.decode().exclude(before.decode().worker());
        took(request, fleet.router.decodeAgain(request));
      }
    }
  }
}
