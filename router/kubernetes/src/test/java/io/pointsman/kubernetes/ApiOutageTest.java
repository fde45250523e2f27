package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ApiOutageTest {
  private final FakeClock clock = new FakeClock();
  private final ApiOutage outage = new ApiOutage("http://api", clock::nanos);

  @Test
  void outageStartsAfterPatienceAndEndsImmediately() {
    clock.advance(ApiOutage.PATIENCE.minus(Duration.ofMillis(1)));
    outage.look(false);
    assertThat(outage.away()).isFalse();
    clock.advance(Duration.ofMillis(1));
    outage.look(false);
    assertThat(outage.away()).isTrue();
    outage.look(true);
    assertThat(outage.away()).isFalse();
  }

  @Test
  void causeOfAPastOutageIsNotReportedForTheNext() {
    String unknown = outage.cause();
    outage.failed(new IllegalStateException("refused"));
    assertThat(outage.cause()).contains("refused");
    outage.look(true);
    assertThat(outage.cause()).isEqualTo(unknown);
  }
}
