package io.pointsman.engine.deferral;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class DeferralQueuesTest {
  private static final long LONGEST = TimeUnit.SECONDS.toNanos(5);
  private static final long HOUR = TimeUnit.HOURS.toNanos(1);

  private final DeferralQueues queues = new DeferralQueues(LONGEST);

  private record Waiter(RoutingRequest request) implements Deferral.Waiter {
    Waiter(String model) {
      this(RoutingRequest.builder().model(model).build());
    }

    @Override
    public void decided(Decision decision, long deferredNanos) {}

    @Override
    public void failed(RuntimeException fault) {
      throw fault;
    }
  }

  private DeferralQueue queue(String model, int inVain) {
    DeferralQueue queue = queues.of(new Waiter(model).request(), 0);
    for (int i = 0; i < inVain; i++) {
      queue.inVain(LONGEST, 0);
    }
    return queue;
  }

  private int countAfter(long nanos) {
    queues.sweep(nanos);
    return queues.count();
  }

  @Test
  void queuesAreKeptWhileTheyContainInformation() {
    queue("none", 0);
    queue("one", 1);
    queue("four", 4);
    DeferralQueue paused = queue("paused", 16);
    for (int i = 0; i < 16; i++) {
      paused.inTime(0);
    }
    queue("waited in", 0).add(new Waiter("waited in"), Double.NaN, 0);

    assertThat(countAfter(0)).isEqualTo(4);
    assertThat(countAfter(12 * LONGEST)).as("the pause is over").isEqualTo(3);
    assertThat(countAfter(HOUR + 1)).as("one is half of one").isEqualTo(2);
    assertThat(countAfter(3 * HOUR + 1)).isEqualTo(1);
  }

  @Test
  void queuesAreBoundedAndTheLeastInformativeAreRemoved() {
    DeferralQueue telling = queue("telling", 3);
    DeferralQueue waitedIn = queue("waited in", 0);
    waitedIn.add(new Waiter("waited in"), Double.NaN, 0);
    for (int i = 0; i < 10 * DeferralQueues.MOST; i++) {
      queue("name " + i, 1);
    }

    assertThat(countAfter(0)).isEqualTo(DeferralQueues.MOST);
    assertThat(queue("telling", 0)).isSameAs(telling);
    assertThat(queue("waited in", 0)).isSameAs(waitedIn);
  }
}
