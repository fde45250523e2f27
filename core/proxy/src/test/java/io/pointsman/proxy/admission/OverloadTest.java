package io.pointsman.proxy.admission;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.identity.Priority;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Three times the load that the engines can serve, in simulated time. */
class OverloadTest {
  private static final int PERMITS = 16;
  private static final int TOKENS = 500;
  private static final int SECONDS = 600;

  /** Requests per second that all permits serve: each takes two seconds. */
  private static final double CAPACITY = PERMITS / 2.0;

  private final FakeClock clock = new FakeClock();
  private final Random random = new Random(1);
  private final Admission admission =
      new Admission(new AdmissionSettings(PERMITS, 40, Duration.ofHours(1), 503), clock::nanos);
  private final PriorityQueue<Event> events =
      new PriorityQueue<>((a, b) -> Long.compare(a.at, b.at));
  private final Map<String, Result> results = new HashMap<>();

  private record Event(long at, Runnable action) {}

  private static final class Result {
    int sent;
    int served;
    int shed;
    double longestWait;
  }

  private void after(double seconds, Runnable action) {
    events.add(new Event(clock.nanos() + (long) (seconds * 1e9), action));
  }

  private void sends(String client, Priority priority, double perSecond) {
    double gap = -Math.log(1 - random.nextDouble()) / perSecond;
    after(
        gap,
        () -> {
          send(new QueuedRequest(client, priority, TOKENS));
          sends(client, priority, perSecond);
        });
  }

  private void send(QueuedRequest request) {
    Result result = results.computeIfAbsent(request.client(), _ -> new Result());
    result.sent++;
    long at = clock.nanos();
    Runnable shed =
        () -> {
          result.shed++;
          assertThat(admission.nanosToTurn()).as("a computed Retry-After").isPositive();
        };
    Runnable serve =
        () -> {
          result.longestWait = Math.max(result.longestWait, (clock.nanos() - at) / 1e9);
          after(
              1 + 2 * random.nextDouble(),
              () -> {
                result.served++;
                admission.leave(request, 2 * TOKENS);
              });
        };
    switch (admission.enter(new TestWaiter(request, serve, shed))) {
      case ADMITTED -> serve.run();
      case QUEUED -> {}
      case FULL -> shed.run();
    }
  }

  private void run() {
    long end = clock.nanos() + Duration.ofSeconds(SECONDS).toNanos();
    for (Event next = events.poll(); next != null && next.at < end; next = events.poll()) {
      clock.advance(Duration.ofNanos(next.at - clock.nanos()));
      next.action.run();
    }
  }

  @Test
  void aPoliteClientKeepsItsShareAndHighPriorityItsPlace() {
    double fair = CAPACITY / 2;
    sends("greedy", Priority.NORMAL, 3 * CAPACITY - fair);
    sends("polite", Priority.NORMAL, fair * 0.95);
    sends("urgent", Priority.HIGH, CAPACITY / 40);
    run();

    Result polite = requireNonNull(results.get("polite"));
    Result urgent = requireNonNull(results.get("urgent"));
    Result greedy = requireNonNull(results.get("greedy"));
    assertThat(polite.served).isGreaterThanOrEqualTo((int) (0.9 * fair * 0.95 * SECONDS));
    assertThat(urgent.shed).isZero();
    assertThat(urgent.longestWait).as("time of a permit's release").isLessThan(1.5);
    int served = polite.served + urgent.served + greedy.served;
    assertThat(served).isGreaterThanOrEqualTo((int) (0.9 * CAPACITY * SECONDS));
    assertThat(greedy.shed).isPositive();
    assertThat(greedy.sent - greedy.served - greedy.shed).as("waiting or served").isBetween(0, 60);
  }
}
