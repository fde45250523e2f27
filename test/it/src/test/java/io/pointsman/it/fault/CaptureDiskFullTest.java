package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.RouterFault;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The disk for captured requests is full. A limit on file sizes makes every write fail. */
@Timeout(180)
@Tag("full")
final class CaptureDiskFullTest {
  private static final int ROUNDS = 20;

  @TempDir Path directory;

  @Test
  @Shows(RouterFault.CAPTURE_DISK_FULL)
  void requestsAreServedAndTheCaptureResumesWhenThereIsSpace() throws Exception {
    Path file = directory.resolve("traffic.jsonl");
    try (ScriptedEngine engine =
            ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, Faults.Answer.ok()));
        RouterProcess router =
            RouterProcess.serve(List.of(engine.url()), "--trace-out", file.toString())) {
      ask(router);
      WaitFor.until("it captures", WaitFor.LONG, () -> lines(file) == 1);
      router.failFileWrites(true);
      for (int i = 0; i < ROUNDS; i++) {
        ask(router);
        WaitFor.pause(50); // a separate thread writes the capture
      }
      WaitFor.until(
          "requests are left out",
          WaitFor.LONG,
          () -> router.metric("pointsman_captured_requests_total{result=\"failed\"}") > 0);
      assertThat(lines(file)).isEqualTo(1);
      router.failFileWrites(false);
      WaitFor.until(
          "it captures again",
          WaitFor.LONG,
          () -> {
            ask(router);
            return lines(file) > 1;
          });
      // Only the failing capture is logged, once the log can be written too.
      WaitFor.until(
          router::output,
          WaitFor.LONG,
          () -> router.output().contains("captured requests are written again"));
      router.verify();
      router.terminate();
      assertThat(router.awaitExit()).isZero();
    }
    for (String line : Files.readAllLines(file)) {
      assertThat(new ObjectMapper().readTree(line).has("hash_ids")).isTrue();
    }
  }

  private static void ask(RouterProcess router) {
    try {
      String body = FaultRig.request(false);
      assertThat(RawClient.call(router.port(), "POST", "/v1/completions", body).status())
          .isEqualTo(200);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static int lines(Path file) {
    try {
      return Files.exists(file) ? Files.readAllLines(file).size() : 0;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
