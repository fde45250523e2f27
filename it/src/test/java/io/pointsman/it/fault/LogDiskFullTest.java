package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Await;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The disk that the log is written to is full: played by a limit on the size of files, under which
 * every write to one fails. Standard error goes to a file as well. Each reload logs a line.
 */
@Timeout(180)
final class LogDiskFullTest {
  private static final int ROUNDS = 20;

  @TempDir Path directory;

  @Test
  void requestsAreServedAndTheLogGoesOnWhenThereIsRoomAgain() throws Exception {
    Path file = directory.resolve("pointsman.log");
    try (ScriptedEngine engine =
            ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, Faults.Answer.ok()));
        RouterProcess router =
            RouterProcess.serve(List.of(engine.url()), "--log-directory", directory.toString())) {
      Await.until("it logs", Await.LONG, () -> size(file) > 0);
      router.failFileWrites(true);
      long before = size(file);
      for (int i = 0; i < ROUNDS; i++) {
        router.hangUp();
        String body = FaultRig.request(false);
        assertThat(RawClient.call(router.port(), "POST", "/v1/completions", body).status())
            .isEqualTo(200);
      }
      assertThat(size(file)).isEqualTo(before);
      router.failFileWrites(false);
      Await.until(
          "it logs again", Duration.ofSeconds(90), () -> logs(router) && size(file) > before);
      router.terminate();
      assertThat(router.awaitExit()).isZero();
    }
  }

  private static boolean logs(RouterProcess router) {
    try {
      router.hangUp();
      Await.pause(100); // the log is written by a thread of its own
      return true;
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static long size(Path file) {
    try {
      return Files.exists(file) ? Files.size(file) : 0;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
