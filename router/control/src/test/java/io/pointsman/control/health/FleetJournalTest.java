package io.pointsman.control.health;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.ServedModels;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Lines about workers in the log. */
class FleetJournalTest {
  private final Logger logger = (Logger) LoggerFactory.getLogger(FleetJournal.class);
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, () -> 0);
  private final FleetJournal journal = new FleetJournal(fleet);
  private final Worker worker = fleet.add(WorkerSpec.of("http://a:1"));

  @BeforeEach
  void listen() {
    logged.start();
    logger.addAppender(logged);
    logger.setLevel(Level.INFO);
  }

  @AfterEach
  void stopListening() {
    logger.setLevel(null);
    logger.detachAppender(logged);
  }

  private void fails(String reason) {
    worker.probes().failing(reason);
    worker.probed(false);
    journal.look();
  }

  private void succeeds() {
    worker.probed(true);
    worker.probed(true);
    journal.look();
  }

  private List<String> lines() {
    return logged.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Test
  void theReasonOfAnOutageIsLoggedOnce() {
    fails("refused");
    fails("refused");
    fails("refused");
    assertThat(lines()).containsExactly("worker a:1 is unhealthy: refused");
  }

  @Test
  void aNewReasonIsLoggedOnceEachAlsoIfTwoAlternate() {
    for (int i = 0; i < 5; i++) {
      fails("refused");
      fails("status 404");
    }
    assertThat(lines())
        .containsExactly(
            "worker a:1 is unhealthy: refused", "worker a:1 is still unhealthy: status 404");
  }

  @Test
  void theNextOutageIsLoggedAgain() {
    fails("refused");
    succeeds();
    assertThat(worker.health().reason()).isEmpty();
    for (int i = 0; i < 3; i++) {
      fails("refused");
    }
    assertThat(lines())
        .containsExactly(
            "worker a:1 is unhealthy: refused",
            "worker a:1 is healthy, serves []",
            "worker a:1 is unhealthy: refused");
  }

  @Test
  void aWorkerThatReportsNoModelsGetsRequestsForEveryModel() {
    fleet.learnModels(Map.of(worker, ServedModels.reported(Set.of())));
    succeeds();
    assertThat(lines()).containsExactly("worker a:1 is healthy, gets requests for every model");
  }

  @Test
  void reasonsWithoutEndAreNotAllLogged() {
    for (int i = 0; i < 100; i++) {
      fails("reason " + i);
    }
    assertThat(lines()).hasSize(8);
  }

  @Test
  void namesOfModelsCannotForgeLines() {
    fleet.learnModels(Map.of(worker, ServedModels.reported(Set.of("m\n2026 ERROR gone", "n"))));
    succeeds();
    assertThat(lines())
        .containsExactly("worker a:1 is healthy, serves [m\\u000a2026 ERROR gone, n]");
  }
}
