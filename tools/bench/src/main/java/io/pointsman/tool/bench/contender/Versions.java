package io.pointsman.tool.bench.contender;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Version numbers that programs print. Each program is called once per run. */
final class Versions {
  /** Time limit; Python programs import their packages first. */
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private static final Pattern NUMBER = Pattern.compile("\\d+\\.\\d+(\\.\\d+)*");
  private static final Map<List<String>, String> SAID = new ConcurrentHashMap<>();

  private Versions() {}

  /**
   * First number with dots in the output; empty if there is none, or if the program fails or does
   * not end.
   */
  static String saidBy(List<String> command) {
    return SAID.computeIfAbsent(command, line -> ask(line, LIMIT));
  }

  static String ask(List<String> command, Duration limit) {
    try {
      Path said = Files.createTempFile("pointsman-bench-version", ".txt");
      try {
        return ask(command, limit, said);
      } finally {
        Files.delete(said);
      }
    } catch (IOException e) {
      return "";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    }
  }

  private static String ask(List<String> command, Duration limit, Path said)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    try {
      boolean ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
      Matcher number = NUMBER.matcher(Files.readString(said));
      return ended && process.exitValue() == 0 && number.find() ? number.group() : "";
    } finally {
      // The program may serve instead; it must not run during a measurement.
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }
}
