package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Await;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.testkit.RouterFault;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The disk that the log is written to is full: played by a limit on the size of files, under which
 * every write to one fails (with EFBIG, where a full disk says ENOSPC). Standard error goes to a
 * file as well. Each reload logs a line, and that it took place shows in who serves.
 */
@Timeout(180)
final class LogDiskFullTest {
  private static final int ROUNDS = 10;
  private static final String LINE = "configuration reloaded";

  @TempDir Path directory;
  private int reloads;

  @Test
  @Shows(RouterFault.LOG_DISK_FULL)
  void requestsAreServedAndTheLogGoesOnWhenThereIsRoomAgain() throws Exception {
    Path file = directory.resolve("pointsman.log");
    Path configuration = directory.resolve("router.yaml");
    try (ScriptedEngine always = engine();
        ScriptedEngine first = engine();
        ScriptedEngine second = engine()) {
      configure(configuration, always, second);
      try (RouterProcess router =
          RouterProcess.start(
              "--config", configuration.toString(), "--log-directory", directory.toString())) {
        reload(router, configuration, always, first);
        Await.until("it logs a reload", Await.LONG, () -> lines(file) == 1);
        router.failFileWrites(true);
        long before = Files.size(file);
        for (int i = 0; i < ROUNDS; i++) {
          reload(router, configuration, always, i % 2 == 0 ? second : first);
        }
        assertThat(Files.size(file)).isEqualTo(before);
        router.failFileWrites(false);
        Await.until(
            "it logs again",
            Duration.ofSeconds(90),
            () -> {
              reload(router, configuration, always, reloads % 2 == 0 ? first : second);
              Await.pause(100); // the log is written by a thread of its own
              return lines(file) > 1;
            });
        // One in the buffer of the file may have been written after all.
        assertThat(lines(file)).as("lines of %d reloads", reloads).isLessThan(reloads - ROUNDS / 2);
        router.verify();
        router.terminate();
        assertThat(router.awaitExit()).isZero();
      }
    }
  }

  private static ScriptedEngine engine() throws IOException {
    return ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, Faults.Answer.ok()));
  }

  private static void configure(Path file, ScriptedEngine always, ScriptedEngine other)
      throws IOException {
    String text = "policy: round_robin\nworkers: [" + always.url() + ", " + other.url() + "]\n";
    Files.writeString(file, text);
  }

  /**
   * Has the configuration with another second worker read, and waits until it serves; every request
   * is served meanwhile.
   */
  private void reload(
      RouterProcess router, Path configuration, ScriptedEngine always, ScriptedEngine other) {
    try {
      configure(configuration, always, other);
      router.hangUp();
      reloads++;
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
    long before = served(other);
    Await.until(
        "the new worker serves",
        Await.LONG,
        () -> {
          assertThat(status(router.port())).isEqualTo(200);
          return served(other) > before;
        });
  }

  private static int status(int port) {
    try {
      return RawClient.call(port, "POST", "/v1/completions", FaultRig.request(false)).status();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static long served(ScriptedEngine engine) {
    return engine.requests().stream().filter(r -> r.line().startsWith("POST ")).count();
  }

  private static long lines(Path log) {
    try {
      return Files.readAllLines(log).stream().filter(line -> line.contains(LINE)).count();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
