package io.pointsman.proxy.admission;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.admission.Admission.Answer;
import io.pointsman.proxy.identity.Priority;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Permits are held, granted in order, and released once. */
class AdmissionTest {
  private final FakeClock clock = new FakeClock();
  private final List<String> admitted = new ArrayList<>();
  private final List<String> displaced = new ArrayList<>();
  private static final Duration WAIT = Duration.ofSeconds(1);
  private final Admission admission =
      new Admission(new AdmissionSettings(2, 2, Duration.ofSeconds(1), 503), clock::nanos);

  private static final QueuedRequest REQUEST = new QueuedRequest("c", Priority.NORMAL, 1);

  private Admission.Waiter waiter(String name) {
    return new TestWaiter(REQUEST, () -> admitted.add(name), () -> displaced.add(name));
  }

  private static long leave(Admission from) {
    return from.leave(REQUEST, 1);
  }

  @Test
  void queueIsFairAndBounded() {
    assertThat(admission.enter(waiter("a"))).isEqualTo(Answer.ADMITTED);
    assertThat(admission.enter(waiter("b"))).isEqualTo(Answer.ADMITTED);
    assertThat(admission.enter(waiter("c"))).isEqualTo(Answer.QUEUED);
    assertThat(admission.enter(waiter("d"))).isEqualTo(Answer.QUEUED);
    assertThat(admission.enter(waiter("e"))).isEqualTo(Answer.FULL);

    leave(admission);
    leave(admission);

    assertThat(admitted).containsExactly("c", "d");
    leave(admission);
    assertThat(admission.enter(waiter("f"))).isEqualTo(Answer.ADMITTED);
    assertThat(admission.enter(waiter("g"))).isEqualTo(Answer.QUEUED);
  }

  @Test
  void aFullQueueDisplacesTheLastRequestOfAnotherClient() {
    for (String name : List.of("a", "b", "c", "d")) {
      admission.enter(waiter(name));
    }
    QueuedRequest other = new QueuedRequest("other", Priority.NORMAL, 1);
    Runnable never = () -> displaced.add("other");
    assertThat(admission.enter(new TestWaiter(other, () -> admitted.add("other"), never)))
        .isEqualTo(Answer.QUEUED);
    assertThat(displaced).containsExactly("d");
    assertThat(admission.queued()).isEqualTo(2);

    leave(admission);
    leave(admission);
    assertThat(admitted).containsExactlyInAnyOrder("c", "other");
  }

  @Test
  void aShareOfThePermitsIsForHighPriorityAlone() {
    Admission shared = new Admission(new AdmissionSettings(2, 9, WAIT, 503), clock::nanos);
    QueuedRequest high = new QueuedRequest("h", Priority.HIGH, 1);
    Runnable none = () -> {};
    assertThat(shared.enter(new TestWaiter(high, none, none))).isEqualTo(Answer.ADMITTED);
    shared.leave(high, 1);
    assertThat(shared.enter(waiter("a"))).isEqualTo(Answer.ADMITTED);
    assertThat(shared.enter(waiter("b"))).isEqualTo(Answer.QUEUED);
    assertThat(shared.enter(new TestWaiter(high, none, none))).isEqualTo(Answer.ADMITTED);
    Runnable admits = () -> admitted.add("high");
    assertThat(shared.enter(new TestWaiter(high, admits, none))).isEqualTo(Answer.QUEUED);

    shared.leave(high, 1);
    assertThat(admitted).containsExactly("high");
    leave(shared);
    assertThat(admitted).containsExactly("high", "b");

    shared.leave(high, 1);
    assertThat(shared.enter(waiter("c"))).isEqualTo(Answer.QUEUED);
    clock.advance(Duration.ofMinutes(1));
    assertThat(shared.enter(waiter("d"))).isEqualTo(Answer.QUEUED);
    leave(shared);
    assertThat(admitted).as("the reserve ends after a minute").endsWith("c", "d");
  }

  @Test
  void theEndOfTheReserveAdmitsWaitersWithoutABusyLoop() {
    Runnable none = () -> {};
    QueuedRequest high = new QueuedRequest("h", Priority.HIGH, 1);
    for (int rate : new int[] {0, 1000}) {
      admitted.clear();
      Admission shared = new Admission(new AdmissionSettings(2, 9, WAIT, 503, rate), clock::nanos);
      shared.enter(new TestWaiter(high, none, none));
      shared.leave(high, 1);
      shared.enter(waiter("a"));
      assertThat(shared.enter(waiter("b"))).isEqualTo(Answer.QUEUED);
      long minute = Duration.ofMinutes(1).toNanos();
      assertThat(shared.wakeAfterNanos()).isEqualTo(minute);
      assertThat(shared.wakeAfterNanos()).as("one wakes already").isEqualTo(Admission.NO_WAKE);

      clock.advance(Duration.ofMinutes(1));
      assertThat(shared.wake()).isEqualTo(Admission.NO_WAKE);
      assertThat(admitted).containsExactly("b");
    }
  }

  @Test
  void anEarlierWakeUpTakesThePlaceOfALaterOne() {
    Runnable none = () -> {};
    QueuedRequest high = new QueuedRequest("h", Priority.HIGH, 1);
    Admission shared = new Admission(new AdmissionSettings(3, 9, WAIT, 503, 1), clock::nanos);
    shared.enter(new TestWaiter(high, none, none));
    shared.enter(waiter("a"));
    shared.enter(waiter("b"));
    assertThat(shared.enter(waiter("c"))).isEqualTo(Answer.QUEUED);
    shared.leave(high, 1);
    assertThat(shared.wakeAfterNanos()).isEqualTo(Admission.NO_WAKE);
    assertThat(leave(shared)).as("the rate is nearer than the reserve").isPositive();
    clock.advance(Duration.ofSeconds(1));
    shared.wake();
    assertThat(admitted).containsExactly("c");
    assertThat(shared.wake()).isEqualTo(Admission.NO_WAKE);
  }

  @Test
  void waiterThatQuitsIsSkipped() {
    admission.enter(waiter("a"));
    admission.enter(waiter("b"));
    Admission.Waiter quitter = waiter("c");
    admission.enter(quitter);
    admission.enter(waiter("d"));

    assertThat(admission.quit(quitter)).isTrue();
    assertThat(admission.quit(quitter)).isFalse();
    leave(admission);

    assertThat(admitted).containsExactly("d");
    assertThat(admission.queued()).isZero();
  }

  @Test
  void rateAdmitsABurstAndThenItsRequestsPerSecond() {
    Admission rated = rated(2, 10, 4);
    assertThat(rated.enter(waiter("a"))).isEqualTo(Answer.ADMITTED);
    assertThat(rated.enter(waiter("b"))).isEqualTo(Answer.ADMITTED);
    leave(rated);
    leave(rated);
    assertThat(rated.enter(waiter("c"))).isEqualTo(Answer.QUEUED);
    assertThat(rated.wakeAfterNanos()).isEqualTo(250_000_000L);
    assertThat(rated.wakeAfterNanos()).isEqualTo(Admission.NO_WAKE);

    clock.advance(Duration.ofMillis(249));
    assertThat(rated.wake()).isEqualTo(1_000_000L);
    assertThat(admitted).isEmpty();
    clock.advance(Duration.ofMillis(1));
    assertThat(rated.wake()).isEqualTo(Admission.NO_WAKE);
    assertThat(admitted).containsExactly("c");
  }

  @Test
  void withoutAFreePermitNoWakeUpIsScheduledForTheRate() {
    Admission rated = rated(1, 10, 1);
    rated.enter(waiter("a"));
    rated.enter(waiter("b"));
    clock.advance(Duration.ofSeconds(5));
    assertThat(rated.wakeAfterNanos()).as("a token is there").isEqualTo(Admission.NO_WAKE);
    assertThat(leave(rated)).as("nobody waits any more").isEqualTo(Admission.NO_WAKE);
    assertThat(admitted).containsExactly("b");
    rated.enter(waiter("c"));
    assertThat(leave(rated)).as("the place is there, a token is not").isEqualTo(1_000_000_000L);
    assertThat(admitted).containsExactly("b");
    assertThat(rated.wakeAfterNanos()).as("one wakes already").isEqualTo(Admission.NO_WAKE);
  }

  @Test
  void noRequestOvertakesWaitersForTheRate() {
    Admission rated = rated(1, 10, 1);
    rated.enter(waiter("a"));
    leave(rated);
    rated.enter(waiter("b"));
    clock.advance(Duration.ofSeconds(1));
    assertThat(rated.enter(waiter("c"))).isEqualTo(Answer.QUEUED);
    rated.wake();
    assertThat(admitted).containsExactly("b");
    clock.advance(Duration.ofSeconds(1));
    rated.wake();
    assertThat(admitted).containsExactly("b");
    leave(rated);
    assertThat(admitted).containsExactly("b", "c");
  }

  @Test
  void rejectedRequestGetsItsEstimatedWaitByTheRate() {
    Admission rated = rated(1, 1, 2);
    rated.enter(waiter("a"));
    rated.enter(waiter("b"));
    assertThat(rated.enter(waiter("c"))).isEqualTo(Answer.FULL);
    assertThat(rated.nanosToTurn()).isEqualTo(1_000_000_000L);
  }

  @Test
  void rejectedRequestGetsItsEstimatedWaitByTheReleases() {
    for (String name : List.of("a", "b", "c", "d")) {
      admission.enter(waiter(name));
    }
    assertThat(admission.nanosToTurn()).as("nothing is known yet").isZero();
    clock.advance(Duration.ofHours(1));
    leave(admission);
    assertThat(admission.nanosToTurn()).as("one end gives no rate").isZero();
    clock.advance(Duration.ofSeconds(3));
    leave(admission);

    assertThat(admitted).containsExactly("c", "d");
    assertThat(admission.nanosToTurn()).isEqualTo(Duration.ofSeconds(3).toNanos());
    admission.enter(waiter("e"));
    assertThat(admission.nanosToTurn()).isEqualTo(Duration.ofSeconds(6).toNanos());
  }

  @Test
  void idleTimesDoNotCountAsIntervalsBetweenReleases() {
    admission.enter(waiter("a"));
    admission.enter(waiter("b"));
    leave(admission);
    clock.advance(Duration.ofHours(1));
    admission.enter(waiter("c"));
    leave(admission);

    assertThat(admission.nanosToTurn()).isZero();
  }

  @Test
  void estimatedWaitIsBounded() {
    for (String name : List.of("a", "b", "c", "d")) {
      admission.enter(waiter(name));
    }
    leave(admission);
    clock.advance(Duration.ofHours(1));
    leave(admission);

    assertThat(admission.nanosToTurn()).isEqualTo(Admission.LONGEST_TURN.toNanos());
  }

  @Test
  void bucketContainsAtMostABurst() {
    Admission rated = rated(2, 10, 100);
    clock.advance(Duration.ofHours(1));
    rated.enter(waiter("a"));
    rated.enter(waiter("b"));
    leave(rated);
    leave(rated);
    assertThat(rated.enter(waiter("c"))).isEqualTo(Answer.QUEUED);
  }

  private Admission rated(int most, int queue, int perSecond) {
    AdmissionSettings settings =
        new AdmissionSettings(most, queue, Duration.ofSeconds(9), 503, perSecond);
    return new Admission(settings, clock::nanos);
  }

  @Test
  void requestThatCannotWaitGetsTheStatusOfAFullQueueOr503() {
    Duration wait = Duration.ofSeconds(1);

    assertThat(AdmissionSettings.DEFAULTS.answersTooMany(null)).isFalse();
    assertThat(new AdmissionSettings(8, 0, wait, 503, 0, 429).answersTooMany(null)).isTrue();
    assertThat(new AdmissionSettings(8, 0, wait, 503, 0, 503).answersTooMany(null)).isFalse();
    assertThat(new AdmissionSettings(8, 0, wait, 503, 0, 529).answersTooMany(null)).isFalse();
  }
}
