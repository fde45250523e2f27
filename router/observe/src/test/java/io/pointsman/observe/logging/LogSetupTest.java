package io.pointsman.observe.logging;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.testkit.Await;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

@ResourceLock("log")
class LogSetupTest {
  private static final Logger log = LoggerFactory.getLogger(LogSetupTest.class);

  private static List<String> lines(
      LogSettings.Level level, LogSettings.Format format, Runnable work) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (LogSetup _ = LogSetup.start(new LogSettings(level, format, ""), out)) {
      work.run();
    }
    return out.toString(StandardCharsets.UTF_8).lines().toList();
  }

  @Test
  void textNamesTimeLevelAndPlace() {
    List<String> lines =
        lines(LogSettings.Level.INFO, LogSettings.Format.TEXT, () -> log.info("hello {}", 7));
    assertThat(lines).hasSize(1);
    assertThat(lines.getFirst()).endsWith("Z INFO  LogSetupTest: hello 7");
    Instant time =
        Instant.parse(lines.getFirst().substring(0, "2026-01-01T00:00:00.000Z".length()));
    assertThat(time).isBetween(Instant.now().minusSeconds(3_600), Instant.now());
  }

  @Test
  void theStackOfAFailureFollowsItsLine() {
    Runnable work = () -> log.error("broken", new IllegalStateException("why"));
    List<String> lines = lines(LogSettings.Level.INFO, LogSettings.Format.TEXT, work);
    assertThat(lines.getFirst()).endsWith("Z ERROR LogSetupTest: broken");
    assertThat(lines.get(1)).isEqualTo("  java.lang.IllegalStateException: why");
    assertThat(lines.get(2)).contains("at " + LogSetupTest.class.getName());
  }

  @Test
  void textFromOutsideCannotForgeALine() {
    String forged = "x\r\n2026-01-01T00:00:00.000Z INFO  Router: forged\u001b[2J\u2028\u202e";
    Runnable work =
        () -> {
          log.info("model {}", forged);
          log.info("model {}", "y".repeat(3_000_000));
          log.error("failed", new IllegalStateException(forged));
        };
    List<String> lines = lines(LogSettings.Level.INFO, LogSettings.Format.TEXT, work);
    assertThat(lines.getFirst())
        .endsWith(
            "model x\\u000d\\u000a2026-01-01T00:00:00.000Z INFO  Router: forged"
                + "\\u001b[2J\\u2028\\u202e");
    assertThat(lines.get(1).length()).isBetween(8_000, 9_000);
    assertThat(lines.get(1)).endsWith("y...");
    assertThat(lines.get(2)).endsWith(": failed");
    assertThat(lines.get(3)).isEqualTo("  java.lang.IllegalStateException: x");
    assertThat(lines.subList(3, lines.size()))
        .allMatch(line -> line.startsWith("  "))
        .noneMatch(line -> line.chars().anyMatch(c -> c < ' '));
    lines = lines(LogSettings.Level.INFO, LogSettings.Format.JSON, work);
    assertThat(lines).hasSize(3).allMatch(line -> line.startsWith("{") && line.endsWith("}"));
  }

  @Test
  void namedValuesFollowTheMessageAndAreMembersOfTheObject() throws Exception {
    Runnable work =
        () ->
            log.atInfo()
                .addKeyValue("status", 404)
                .addKeyValue("path", "/a b\"c")
                .addKeyValue("model", "x\ny")
                .addKeyValue("ms", 1.1)
                .addKeyValue("long", 1e9)
                .addKeyValue("fine", 0.25)
                .addKeyValue("back", -0.5)
                .log("request");
    assertThat(lines(LogSettings.Level.INFO, LogSettings.Format.TEXT, work).getFirst())
        .endsWith(
            "LogSetupTest: request status=404 path=\"/a b\\\"c\" model=x\\u000ay ms=1.1"
                + " long=1.0E9 fine=0.25 back=-0.5");
    JsonNode json =
        new ObjectMapper()
            .readTree(lines(LogSettings.Level.INFO, LogSettings.Format.JSON, work).getFirst());
    assertThat(json.path("message").asText()).isEqualTo("request");
    assertThat(json.path("status").isInt()).isTrue();
    assertThat(json.path("path").asText()).isEqualTo("/a b\"c");
    assertThat(json.path("ms").asDouble()).isEqualTo(1.1);
  }

  @Test
  void theProgramsOwnProviderIsSilentUntilSetUp() {
    LogProvider provider = new LogProvider();
    provider.initialize();
    assertThat(provider.getLoggerFactory().getLogger("any").isErrorEnabled()).isFalse();
    assertThat(provider.getMDCAdapter()).isNotNull();
  }

  @Test
  void eventsBelowTheLevelAreNotWritten() {
    Runnable work =
        () -> {
          log.debug("d");
          log.info("i");
          log.warn("w");
          log.error("e");
        };
    assertThat(lines(LogSettings.Level.DEBUG, LogSettings.Format.TEXT, work)).hasSize(4);
    assertThat(lines(LogSettings.Level.WARN, LogSettings.Format.TEXT, work)).hasSize(2);
    assertThat(lines(LogSettings.Level.OFF, LogSettings.Format.TEXT, work)).isEmpty();
  }

  @Test
  void jsonIsOneObjectPerLineForAnyMessage() throws Exception {
    List<String> lines =
        lines(
            LogSettings.Level.INFO,
            LogSettings.Format.JSON,
            () -> log.warn("say \"hi\"\nthere é", new IllegalStateException("why")));
    assertThat(lines).hasSize(1);
    JsonNode line = new ObjectMapper().readTree(lines.getFirst());
    assertThat(line.path("message").asText()).isEqualTo("say \"hi\"\nthere é");
    assertThat(line.path("level").asText()).isEqualTo("WARN");
    assertThat(line.path("logger").asText()).isEqualTo(LogSetupTest.class.getName());
    assertThat(line.path("failure").asText()).contains("IllegalStateException: why");
    assertThat(Instant.parse(line.path("time").asText())).isAfter(Instant.EPOCH);
  }

  @Test
  void aLineOutsideOfTheLogHasItsForm() throws Exception {
    String json = LogSetup.line(LogSettings.Format.JSON, "say \"hi\" {}");
    assertThat(json).endsWith("}\n");
    JsonNode line = new ObjectMapper().readTree(json);
    assertThat(line.path("message").asText()).isEqualTo("say \"hi\" {}");
    assertThat(line.path("level").asText()).isEqualTo("INFO");
    assertThat(LogSetup.line(LogSettings.Format.TEXT, "hi").strip()).isEqualTo("hi");
  }

  @Test
  void nothingIsWrittenAfterTheEnd() {
    List<String> lines = lines(LogSettings.Level.INFO, LogSettings.Format.TEXT, () -> {});
    log.error("too late");
    assertThat(lines).isEmpty();
  }

  @Test
  void filesAreWrittenToo(@TempDir Path folder) throws Exception {
    Path made = folder.resolve("log files");
    LogSettings settings =
        new LogSettings(LogSettings.Level.INFO, LogSettings.Format.TEXT, made.toString());
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (LogSetup _ = LogSetup.start(settings, out)) {
      log.info("hello {}", 7);
    }
    assertThat(Files.readString(made.resolve("pointsman.log")))
        .endsWith(" INFO  LogSetupTest: hello 7" + System.lineSeparator())
        .isEqualTo(out.toString(StandardCharsets.UTF_8));
  }

  @Test
  void aDirectoryThatCannotBeCreatedIsRefused(@TempDir Path folder) throws Exception {
    Path file = Files.createFile(folder.resolve("file"));
    LogSettings settings =
        new LogSettings(
            LogSettings.Level.INFO, LogSettings.Format.TEXT, file.resolve("below").toString());
    assertThatThrownBy(() -> LogSetup.start(settings, new ByteArrayOutputStream()))
        .isInstanceOf(UncheckedIOException.class);
  }

  @Test
  void aFileThatCannotBeOpenedIsRefused(@TempDir Path folder) throws Exception {
    Path file = Files.createDirectory(folder.resolve("pointsman.log"));
    assertThatThrownBy(() -> logIn(folder))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessageContaining(file + " (expected: a file that can be written to)");
  }

  @Test
  void aDirectoryWithAPercentSignIsRefused(@TempDir Path folder) {
    assertThatThrownBy(() -> logIn(folder.resolve("100%q")))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessageContaining("(expected: a directory without %");
  }

  private static void logIn(Path folder) {
    LogSettings settings =
        new LogSettings(LogSettings.Level.INFO, LogSettings.Format.TEXT, folder.toString());
    LogSetup.start(settings, new ByteArrayOutputStream()).close();
  }

  @Test
  void laterLinesHaveTheChangedFormatInAllOutputs(@TempDir Path folder) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Path first = folder.resolve("a");
    Path second = folder.resolve("b");
    try (LogSetup setup = LogSetup.start(settings(LogSettings.Format.TEXT, first), out)) {
      log.info("one");
      LogSetup.Change dropped = setup.prepared(settings(LogSettings.Format.JSON, second));
      dropped.drop();
      log.info("two");
      awaitLines(out, 2);
      change(setup, settings(LogSettings.Format.JSON, second));
      log.info("three");
      awaitLines(out, 3);
      change(setup, settings(LogSettings.Format.TEXT, first));
      log.info("four");
      awaitLines(out, 4);
      awaitLines(first, 3);
      awaitLines(second, 1);
    }
    List<String> lines = out.toString(StandardCharsets.UTF_8).lines().toList();
    assertThat(lines).hasSize(4);
    assertThat(lines.get(1)).endsWith("INFO  LogSetupTest: two");
    assertThat(lines.get(2)).startsWith("{").contains("\"three\"");
    assertThat(lines(second.resolve("pointsman.log"))).containsExactly(lines.get(2));
    assertThat(lines(first.resolve("pointsman.log")))
        .containsExactly(lines.get(0), lines.get(1), lines.get(3));
  }

  private static void change(LogSetup setup, LogSettings next) {
    LogSetup.Change change = setup.prepared(next);
    change.apply();
    change.finish();
  }

  /** Waits until a thread of its own has written the lines of a file. */
  private static void awaitLines(Path folder, int count) {
    Path file = folder.resolve("pointsman.log");
    Await.until(count + " lines in " + file, () -> lines(file).size() == count);
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits until these lines are written, because a queued one gets the later format. */
  private static void awaitLines(ByteArrayOutputStream out, int count) {
    Await.until(
        count + " lines", () -> out.toString(StandardCharsets.UTF_8).lines().count() == count);
  }

  @Test
  void aDirectoryThatCannotBeWrittenChangesNothing(@TempDir Path folder) throws Exception {
    Path file = Files.createFile(folder.resolve("file"));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (LogSetup setup =
        LogSetup.start(settings(LogSettings.Format.TEXT, folder.resolve("a")), out)) {
      assertThatThrownBy(
              () -> setup.prepared(settings(LogSettings.Format.JSON, file.resolve("below"))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("log.directory: cannot be written to: ");
      log.info("one");
    }
    assertThat(out.toString(StandardCharsets.UTF_8).strip()).endsWith("INFO  LogSetupTest: one");
  }

  private static LogSettings settings(LogSettings.Format format, Path folder) {
    return new LogSettings(LogSettings.Level.INFO, format, folder.toString());
  }
}
