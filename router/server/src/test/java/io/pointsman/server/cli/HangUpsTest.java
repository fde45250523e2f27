package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class HangUpsTest {
  private final Signals.HangUps hangUps = new Signals.HangUps();
  private final AtomicInteger reloads = new AtomicInteger();

  @Test
  void signalsBeforeTheRouterRunsBecomeOneReload() {
    hangUps.arrived();
    hangUps.arrived();
    assertThat(reloads).hasValue(0);

    hangUps.reload(reloads::incrementAndGet);
    assertThat(reloads).hasValue(1);
  }

  @Test
  void eachSignalReloadsWhileTheRouterRuns() {
    hangUps.reload(reloads::incrementAndGet);
    assertThat(reloads).hasValue(0);

    hangUps.arrived();
    hangUps.arrived();
    assertThat(reloads).hasValue(2);
  }

  @Test
  void anErrorIsLoggedAndLaterSignalsStillReload() {
    Logger logger = (Logger) LoggerFactory.getLogger(Signals.HangUps.class);
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    logger.addAppender(lines);
    logger.setLevel(Level.ERROR);
    try {
      hangUps.arrived();
      hangUps.reload(this::failTwice);
      hangUps.arrived();
      hangUps.arrived();
    } finally {
      logger.setLevel(null);
      logger.detachAppender(lines);
    }

    assertThat(reloads).hasValue(3);
    assertThat(lines.list)
        .hasSize(2)
        .allSatisfy(line -> assertThat(line.getLevel()).isEqualTo(Level.ERROR))
        .allSatisfy(line -> assertThat(line.getThrowableProxy().getMessage()).isEqualTo("absent"));
  }

  private void failTwice() {
    if (reloads.incrementAndGet() < 3) {
      throw new NoClassDefFoundError("absent");
    }
  }
}
