package io.pointsman.tool.bench.proxies;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Titles of the workloads in tables. */
final class WorkloadTest {
  @Test
  void titlesStateIfTheContenderHasItsOwnCore() {
    assertThat(Workload.all())
        .allSatisfy(
            workload ->
                assertThat(workload.title())
                    .contains(workload.pinned() ? "one core" : "all cores"));
  }

  @Test
  void theTitleOfTenThousandStreamsStatesThatAllCoresAreShared() {
    Workload workload = Workload.named("sse-10000").withConnections(9_800);

    assertThat(ResultTable.of(workload, List.of(), new Results()).text())
        .startsWith("sse-10000: 10,000 streams x 10 chunks/s, all cores for all, nothing pinned");
  }
}
