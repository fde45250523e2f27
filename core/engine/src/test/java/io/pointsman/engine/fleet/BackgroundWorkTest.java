package io.pointsman.engine.fleet;

import static io.pointsman.engine.TestFleet.spec;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BackgroundWorkTest {
  private final TestFleet test = new TestFleet();
  private final Worker worker = test.add(spec("a"));

  @Test
  void theOldestResponseIsDropped() {
    BackgroundWork work = worker.background();
    for (int i = 0; i <= BackgroundWork.MOST; i++) {
      work.began("r" + i);
    }
    assertThat(work.count()).isEqualTo(BackgroundWork.MOST);
    assertThat(work.has("r0")).isFalse();
    assertThat(work.ids()).startsWith("r1", "r2");
  }

  @Test
  void aResponseThatGoesOnIsDroppedAfterOthers() {
    BackgroundWork work = worker.background();
    for (int i = 0; i < BackgroundWork.MOST; i++) {
      assertThat(work.crowded()).isEqualTo(i >= BackgroundWork.MOST / 2);
      work.began("r" + i);
    }
    work.goesOn("r0");
    work.goesOn("unknown");
    work.began("next");
    assertThat(work.has("r0")).isTrue();
    assertThat(work.has("r1")).isFalse();
    assertThat(work.has("unknown")).isFalse();
    assertThat(work.ids()).endsWith("r0", "next");
  }

  /** Its departure may be undone, so the response is not forgotten. */
  @Test
  void noResponseKeepsAWorkerThatHasLeftFromBeingDrained() {
    worker.background().began("r");
    Lease lease = test.lease(worker);
    test.fleet.remove(worker);
    assertThat(worker.drained()).isFalse();
    lease.ignored();
    assertThat(worker.drained()).isTrue();
    assertThat(worker.background().ids()).containsExactly("r");
  }

  @Test
  void aWorkerIsDrainedWithoutRequestsAndResponses() {
    worker.background().began("r");
    assertThat(worker.drained()).isFalse();
    Lease lease = test.lease(worker);
    worker.cordon(true);
    assertThat(worker.drained()).isFalse();
    lease.ignored();
    assertThat(worker.drained()).isFalse();
    worker.background().ended("r");
    assertThat(worker.drained()).isTrue();
    worker.cordon(false);
    assertThat(worker.drained()).isFalse();
  }

  @Test
  void aReplacementOfTheSameEngineKeepsTheResponses() {
    worker.background().began("r");
    WorkerSpec other = worker.spec().withLabels(Map.of("team", "x"));
    test.fleet.replace(List.of(worker), List.of(other));
    assertThat(test.fleet.snapshot().workers()).hasSize(1);
    Worker next = test.fleet.snapshot().workers().getFirst();
    assertThat(next).isNotSameAs(worker);
    assertThat(next.background().ids()).containsExactly("r");
  }
}
