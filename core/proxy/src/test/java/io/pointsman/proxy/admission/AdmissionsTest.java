package io.pointsman.proxy.admission;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.admission.Admission.Answer;
import io.pointsman.proxy.identity.Priority;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class AdmissionsTest {
  private final int[] admitted = {0};
  private final FakeClock clock = new FakeClock();
  private final Admissions lines =
      new Admissions(
          new AdmissionSettings(
              4,
              5,
              Duration.ofSeconds(7),
              408,
              0,
              429,
              List.of(new ModelLimit("m", 1, 2, 503), new ModelLimit("n", 1, 0, 429)),
              Priority.NORMAL,
              0),
          clock::nanos);

  @Test
  void modelsWithoutTheirOwnQueueUseTheCommonOne() {
    assertThat(lines.of(null)).isSameAs(lines.of("other")).isSameAs(lines.of("other:adapter"));
    assertThat(lines.of(null).settings().maxConcurrentRequests()).isEqualTo(4);
    assertThat(lines.of("mm:adapter")).isSameAs(lines.of(null));
  }

  @Test
  void adaptersUseTheQueueOfTheirModel() {
    assertThat(lines.of("m:adapter")).isSameAs(lines.of("m")).isNotSameAs(lines.of("n"));
  }

  @Test
  void queuesOfModelsUseTheCommonTimeouts() {
    AdmissionSettings own = lines.of("m").settings();

    assertThat(own.queueTimeout()).isEqualTo(Duration.ofSeconds(7));
    assertThat(own.queueTimeoutStatus()).isEqualTo(408);
    assertThat(own.queueSize()).isEqualTo(2);
    assertThat(own.queueFullStatus()).isEqualTo(503);
  }

  @Test
  void aFullQueueDoesNotBlockOtherQueues() {
    assertThat(lines.of("m").enter(waiter())).isEqualTo(Answer.ADMITTED);
    assertThat(lines.of("m").enter(waiter())).isEqualTo(Answer.QUEUED);
    assertThat(lines.of("m").enter(waiter())).isEqualTo(Answer.QUEUED);
    assertThat(lines.of("m").enter(waiter())).isEqualTo(Answer.FULL);

    assertThat(lines.of("n").enter(waiter())).isEqualTo(Answer.ADMITTED);
    assertThat(lines.of("n").enter(waiter())).isEqualTo(Answer.FULL);
    assertThat(lines.of(null).enter(waiter())).isEqualTo(Answer.ADMITTED);
    assertThat(lines.queued()).isEqualTo(2);
  }

  private static final QueuedRequest REQUEST = new QueuedRequest("c", Priority.NORMAL, 1);

  private Admission.Waiter waiter() {
    return new TestWaiter(REQUEST, () -> admitted[0]++, () -> {});
  }

  @Test
  void estimatedWaitUsesOnlyTheReleasesOfTheModel() {
    Admission busy = lines.of("m");
    busy.enter(waiter());
    busy.enter(waiter());
    busy.enter(waiter());
    busy.leave(REQUEST, 1);
    clock.advance(Duration.ofSeconds(3));
    busy.leave(REQUEST, 1);

    assertThat(busy.nanosToTurn()).isEqualTo(Duration.ofSeconds(3).toNanos());
    assertThat(lines.of("n").nanosToTurn()).isZero();
    assertThat(lines.of(null).nanosToTurn()).isZero();
  }
}
