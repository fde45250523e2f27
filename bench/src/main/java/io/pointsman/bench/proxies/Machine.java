package io.pointsman.bench.proxies;

import io.pointsman.bench.contender.Contender;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** On what was measured, and what. */
public final class Machine {
  private static final long SPARE_DESCRIPTORS = 400;

  private Machine() {}

  /** Lines for the top of a report. */
  public static List<String> description(Path home, List<Contender> contenders) throws IOException {
    List<String> lines = new ArrayList<>();
    lines.add(
        "%s; %d cores, %s, %s MB; Linux %s; load %s"
            .formatted(
                LocalDateTime.now(ZoneId.systemDefault())
                    .format(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm")),
                cores(),
                field("/proc/cpuinfo", "model name"),
                Long.parseLong(field("/proc/meminfo", "MemTotal").replaceAll("[^0-9]", "")) / 1024,
                System.getProperty("os.version"),
                Files.readString(Path.of("/proc/loadavg")).strip().split(" ", -1)[0]));
    lines.add("pointsman " + commit(home) + ", Java " + Runtime.version());
    lines.add(
        contenders.stream()
            .filter(c -> !c.version().isEmpty())
            .map(c -> c.name() + " " + c.version())
            .collect(Collectors.joining(", ")));
    return lines;
  }

  public static int cores() {
    return Runtime.getRuntime().availableProcessors();
  }

  /** How many streams a proxy can hold, which needs two descriptors for each. */
  static int streamsPossible() throws IOException {
    String limit = field("/proc/self/limits", "Max open files").strip().split("\\s+", -1)[1];
    return limit.equals("unlimited")
        ? Integer.MAX_VALUE
        : (int) ((Long.parseLong(limit) - SPARE_DESCRIPTORS) / 2);
  }

  private static String field(String file, String name) throws IOException {
    for (String line : Files.readAllLines(Path.of(file))) {
      if (line.startsWith(name)) {
        return line.substring(name.length()).replaceFirst("^\\s*:?\\s*", "").strip();
      }
    }
    return "";
  }

  private static String commit(Path home) {
    try {
      Process git =
          new ProcessBuilder("git", "-C", home.toString(), "describe", "--always", "--dirty")
              .redirectErrorStream(true)
              .start();
      byte[] said = git.getInputStream().readAllBytes();
      return git.waitFor() == 0 ? new String(said, StandardCharsets.UTF_8).strip() : "";
    } catch (IOException e) {
      return "";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    }
  }
}
