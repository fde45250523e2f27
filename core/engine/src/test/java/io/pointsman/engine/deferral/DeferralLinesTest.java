package io.pointsman.engine.deferral;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class DeferralLinesTest {
  private static final long LONGEST = TimeUnit.SECONDS.toNanos(5);
  private static final long HOUR = TimeUnit.HOURS.toNanos(1);

  private final DeferralLines lines = new DeferralLines(LONGEST);

  private record Guest(RoutingRequest request) implements Deferral.Guest {
    Guest(String model) {
      this(RoutingRequest.builder().model(model).build());
    }

    @Override
    public void decided(Decision decision, long heldNanos) {}

    @Override
    public void failed(RuntimeException fault) {
      throw fault;
    }
  }

  private DeferralLine line(String model, int inVain) {
    DeferralLine line = lines.of(new Guest(model).request(), 0);
    for (int i = 0; i < inVain; i++) {
      line.inVain(LONGEST, 0);
    }
    return line;
  }

  private int countAfter(long nanos) {
    lines.sweep(nanos);
    return lines.count();
  }

  @Test
  void queuesAreKeptWhileTheyContainInformation() {
    line("none", 0);
    line("one", 1);
    line("four", 4);
    DeferralLine paused = line("paused", 16);
    for (int i = 0; i < 16; i++) {
      paused.inTime(0);
    }
    line("waited in", 0).add(new Guest("waited in"), 0);

    assertThat(countAfter(0)).isEqualTo(4);
    assertThat(countAfter(12 * LONGEST)).as("the pause is over").isEqualTo(3);
    assertThat(countAfter(HOUR + 1)).as("one is half of one").isEqualTo(2);
    assertThat(countAfter(3 * HOUR + 1)).isEqualTo(1);
  }

  @Test
  void queuesAreBoundedAndTheLeastInformativeAreRemoved() {
    DeferralLine telling = line("telling", 3);
    DeferralLine waitedIn = line("waited in", 0);
    waitedIn.add(new Guest("waited in"), 0);
    for (int i = 0; i < 10 * DeferralLines.MOST; i++) {
      line("name " + i, 1);
    }

    assertThat(countAfter(0)).isEqualTo(DeferralLines.MOST);
    assertThat(line("telling", 0)).isSameAs(telling);
    assertThat(line("waited in", 0)).isSameAs(waitedIn);
  }
}
