package io.pointsman.pd.rule;

import static io.pointsman.pd.rule.PdTestFleet.request;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The prefixes of decode workers, tested through the router's decisions. */
class DecodeCachesTest {
  private static void restart(PdTestFleet fleet, String id) {
    Worker worker = fleet.worker(id);
    int outages = worker.health().outages();
    fleet.kill(id);
    while (!worker.health().healthy()) {
      worker.probed(true);
    }
    assertThat(worker.health().outages()).isEqualTo(outages + 1);
  }

  private static void serve(PdTestFleet fleet, String id) {
    Lease lease = fleet.engine.place(request(64).decode(), fleet.worker(id));
    requireNonNull(lease).succeeded();
  }

  /** The worker that serves the prompt alone because it holds it; empty if there is none. */
  private static String holder(PdTestFleet fleet) {
    return switch (fleet.placed(fleet.router.decide(request(64)))) {
      case Placement.Single single -> {
        assertThat(single.rule()).isEqualTo(SplitRule.CACHED_ON_DECODE);
        single.lease().ignored();
        yield single.lease().worker().id();
      }
      case Placement.Split split -> {
        split.prefill().ignored();
        split.decode().ignored();
        yield "";
      }
    };
  }

  @Test
  void aRestartedWorkerHoldsOnlyPromptsServedSince() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, 1);
    assertThat(holder(fleet)).isEmpty();
    serve(fleet, "d0");
    assertThat(holder(fleet)).isEqualTo("d0");

    restart(fleet, "d0");
    assertThat(holder(fleet)).isEmpty();
    serve(fleet, "d0");
    assertThat(holder(fleet)).isEqualTo("d0");
    restart(fleet, "d0");
    serve(fleet, "d0");
    assertThat(holder(fleet)).as("the first report after it").isEqualTo("d0");
  }

  /** With few and with many holders, because the index stores them differently. */
  @ParameterizedTest
  @ValueSource(ints = {2, 40})
  void otherWorkersKeepTheirPrefixes(int decodes) {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, decodes);
    for (int i = 0; i < decodes; i++) {
      serve(fleet, "d" + i);
    }
    String last = "d" + (decodes - 1);
    for (int i = 0; i < decodes - 1; i++) {
      restart(fleet, "d" + i);
    }
    assertThat(holder(fleet)).isEqualTo(last);
    restart(fleet, last);
    assertThat(holder(fleet)).isEmpty();
  }
}
