package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The disk that the log is written to is full: a device that is (ENOSPC), and a limit on the size
 * of files, under which every write to one fails (EFBIG), also to the one behind standard error.
 * Each reload logs a line, and that it took place shows in who serves.
 */
@Timeout(180)
final class LogDiskFullTest {
  private static final int ROUNDS = 10;
  private static final String LINE = "configuration reloaded";

  /** Linux has it everywhere: whoever writes to it is told that no space is left. */
  private static final Path FULL = Path.of("/dev/full");

  @TempDir Path directory;
  private int reloads;

  @Test
  @Shows(RouterFault.LOG_DISK_FULL)
  void requestsAreServedAndTheLogGoesOnWhenThereIsSpaceAgain() throws Exception {
    assertThatThrownBy(() -> Files.write(FULL, new byte[1], StandardOpenOption.WRITE))
        .hasMessageContaining("No space left on device");
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
        // A file is opened anew once writing has failed: from then on it is the full device.
        router.failFileWrites(true);
        Files.delete(file);
        Files.createSymbolicLink(file, FULL);
        reload(router, configuration, always, second);
        router.failFileWrites(false);
        Await.until(
            "it writes to the full device",
            Await.LONG,
            () -> {
              reload(router, configuration, always, reloads % 2 == 0 ? first : second);
              return router.hasOpen(FULL);
            });
        for (int i = 0; i < ROUNDS; i++) {
          reload(router, configuration, always, reloads % 2 == 0 ? first : second);
        }
        assertThat(router.hasOpen(FULL)).isTrue();
        assertThat(Files.readSymbolicLink(file)).isEqualTo(FULL);
        Files.delete(file); // the next one of that name lies on a disk with space
        awaitLogged(
            file,
            1,
            () -> reload(router, configuration, always, reloads % 2 == 0 ? first : second));
        assertThat(lines(file)).as("lines of %d reloads", reloads).isLessThan(reloads - ROUNDS / 2);
        assertThat(router.output().lines().filter(line -> line.contains(LINE)))
            .as("lines on standard error, which has space")
            .hasSizeGreaterThan(ROUNDS);
        router.verify();
        router.terminate();
        assertThat(router.awaitExit()).isZero();
      }
    }
  }

  @Test
  void requestsAreServedAndTheLogGoesOnWhenFilesMayGrowAgain() throws Exception {
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
        awaitLogged(
            file,
            2,
            () -> reload(router, configuration, always, reloads % 2 == 0 ? first : second));
        // One in the buffer of the file may have been written after all.
        assertThat(lines(file)).as("lines of %d reloads", reloads).isLessThan(reloads - ROUNDS / 2);
        router.verify();
        router.terminate();
        assertThat(router.awaitExit()).isZero();
      }
    }
  }

  /**
   * Reloads until so many lines have come to the file, which is tried again in longer and longer
   * intervals.
   */
  private static void awaitLogged(Path file, int lines, Runnable reload) {
    Await.until(
        "it logs again",
        Duration.ofSeconds(90),
        () -> {
          reload.run();
          Await.pause(100); // the log is written by a thread of its own
          return Files.isRegularFile(file) && lines(file) >= lines;
        });
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
