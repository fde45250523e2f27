package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

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

  @Test
  void reasonThatBecomesKnownLaterIsLoggedOnce() {
    Logger logger = (Logger) LoggerFactory.getLogger(ApiOutage.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    try {
      clock.advance(ApiOutage.PATIENCE);
      outage.look(false);
      outage.look(false);
      outage.failed(new IllegalStateException("forbidden"));
      outage.look(false);
      outage.failed(new IllegalStateException("another"));
      outage.look(false);
    } finally {
      logger.detachAppender(logged);
    }
    assertThat(logged.list.stream().map(ILoggingEvent::getFormattedMessage))
        .satisfiesExactly(
            first -> assertThat(first).contains("cannot watch pods", "no answer"),
            second -> assertThat(second).contains("cannot watch pods", "forbidden"));
  }
}
