package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.RouterFault;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The disk for the log is full: a full device (ENOSPC), and a limit on file sizes that makes every
 * write fail (EFBIG), also that of standard error. Each reload logs a line, and the serving worker
 * shows that the reload happened.
 */
@Timeout(180)
@Tag("full")
final class LogDiskFullTest {
  private static final int ROUNDS = 10;
  private static final String LINE = "configuration reloaded";

  /** A Linux device that fails each write for lack of space. */
  private static final Path FULL = Path.of("/dev/full");

  @TempDir Path directory;

  @Test
  @Shows(RouterFault.LOG_DISK_FULL)
  void requestsAreServedAndTheLogResumesWhenThereIsSpace() throws Exception {
    assertThatThrownBy(() -> Files.write(FULL, new byte[1], StandardOpenOption.WRITE))
        .hasMessageContaining("No space left on device");
    play(
        (router, file, reloads) -> {
          // The file is opened again after a failed write; from then on it is the full device.
          // Writes
          // fail until then: a separate thread writes the log, at any time after the reload.
          router.failFileWrites(true);
          Files.delete(file);
          Files.createSymbolicLink(file, FULL);
          WaitFor.until(
              "it writes to the full device",
              WaitFor.LONG,
              () -> {
                reloads.next();
                return router.hasOpen(FULL);
              });
          router.failFileWrites(false);
          for (int i = 0; i < ROUNDS; i++) {
            reloads.next();
          }
          assertThat(router.hasOpen(FULL)).isTrue();
          assertThat(Files.readSymbolicLink(file)).isEqualTo(FULL);
          Files.delete(file); // the next file of that name is on a disk with space
          reloads.next();
          WaitFor.until(
              "it logs the next line",
              WaitFor.LONG,
              () -> Files.isRegularFile(file) && lines(file) > 0);
          assertThat(lines(file))
              .as("lines of %d reloads", reloads.count)
              .isLessThan(reloads.count - ROUNDS / 2);
          assertThat(router.output().lines().filter(line -> line.contains(LINE)))
              .as("lines on standard error, which has space")
              .hasSizeGreaterThan(ROUNDS);
        });
  }

  @Test
  void requestsAreServedAndTheLogResumesWhenFilesMayGrow() throws Exception {
    play(
        (router, file, reloads) -> {
          router.failFileWrites(true);
          long before = Files.size(file);
          long logged = lines(file);
          for (int i = 0; i < ROUNDS; i++) {
            reloads.next();
          }
          assertThat(Files.size(file)).isEqualTo(before);
          router.failFileWrites(false);
          reloads.next();
          WaitFor.until("it logs the next line", WaitFor.LONG, () -> lines(file) > logged);
          // One line in the file's buffer may have been written.
          assertThat(lines(file))
              .as("lines of %d reloads", reloads.count)
              .isLessThan(reloads.count - ROUNDS / 2);
        });
  }

  /** The fault of the disk, after one logged reload. */
  private interface Fault {
    void strike(RouterProcess router, Path log, Reloads reloads) throws Exception;
  }

  private void play(Fault fault) throws Exception {
    Path file = directory.resolve("pointsman.log");
    Path configuration = directory.resolve("router.yaml");
    try (ScriptedEngine always = engine();
        ScriptedEngine first = engine();
        ScriptedEngine second = engine()) {
      configure(configuration, always, second);
      try (RouterProcess router =
          RouterProcess.start(
              "--config", configuration.toString(), "--log-directory", directory.toString())) {
        Reloads reloads = new Reloads(router, configuration, always, first, second);
        reloads.next();
        WaitFor.until("it logs a reload", WaitFor.LONG, () -> lines(file) == 1);
        fault.strike(router, file, reloads);
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

  /** Reloads of the configuration; each exchanges the second worker. */
  private static final class Reloads {
    private final RouterProcess router;
    private final Path configuration;
    private final ScriptedEngine always;
    private final ScriptedEngine first;
    private final ScriptedEngine second;
    private int count;

    Reloads(
        RouterProcess router,
        Path configuration,
        ScriptedEngine always,
        ScriptedEngine first,
        ScriptedEngine second) {
      this.router = router;
      this.configuration = configuration;
      this.always = always;
      this.first = first;
      this.second = second;
    }

    /** Reloads and waits until the new worker serves; every request is served in the meantime. */
    void next() {
      ScriptedEngine other = count % 2 == 0 ? first : second;
      try {
        configure(configuration, always, other);
        router.hangUp();
        count++;
      } catch (IOException | InterruptedException e) {
        throw new AssertionError(e);
      }
      long before = served(other);
      WaitFor.until(
          "the new worker serves",
          WaitFor.LONG,
          () -> {
            HttpAnswer answer = ask(router.port());
            assertThat(answer.status()).as(answer.text()).isEqualTo(200);
            return served(other) > before;
          });
    }
  }

  private static HttpAnswer ask(int port) {
    try {
      return RawClient.call(port, "POST", "/v1/completions", FaultRig.request(false));
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
