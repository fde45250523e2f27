package io.pointsman.tool.bench.proxies;

import io.pointsman.tool.bench.contender.Contender;
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

/** Description of the machine and of the measured programs. */
public final class Machine {
  private static final long SPARE_DESCRIPTORS = 400;
  private static final String UNKNOWN_COMMIT = "of an unknown commit";

  private Machine() {}

  /** Lines for the head of a report. */
  public static List<String> description(Path home, List<Contender> contenders) throws IOException {
    List<String> lines = new ArrayList<>();
    lines.add(
        "Measured on %s: %d cores, %s, %s MB; Linux %s; load %s"
            .formatted(
                LocalDateTime.now(ZoneId.systemDefault())
                    .format(DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm")),
                cores(),
                processor(),
                Long.parseLong(field("/proc/meminfo", "MemTotal").replaceAll("[^0-9]", "")) / 1024,
                System.getProperty("os.version"),
                Files.readString(Path.of("/proc/loadavg")).strip().split(" ", -1)[0]));
    lines.add("pointsman " + commit(home) + ", Java " + Runtime.version());
    String others =
        contenders.stream()
            .filter(contender -> !isOfThisCommit(contender))
            .map(Machine::withVersion)
            .collect(Collectors.joining(", "));
    if (!others.isEmpty()) {
      lines.add(others);
    }
    return lines;
  }

  /** Virtual machines may hide the name of the processor, but not its family and model number. */
  private static String processor() throws IOException {
    String name = field("/proc/cpuinfo", "model name");
    String family = field("/proc/cpuinfo", "cpu family");
    String model = field("/proc/cpuinfo", "model\t");
    String shown = name.isEmpty() ? System.getProperty("os.arch") : name;
    return family.isEmpty() ? shown : "%s (family %s, model %s)".formatted(shown, family, model);
  }

  private static boolean isOfThisCommit(Contender contender) {
    return contender.isDirect() || contender.name().startsWith("pointsman");
  }

  private static String withVersion(Contender contender) {
    String version = contender.version().isEmpty() ? "(version unknown)" : contender.version();
    return contender.name() + " " + version;
  }

  public static int cores() {
    return Runtime.getRuntime().availableProcessors();
  }

  /** Number of streams that a proxy can hold with the descriptor limit; each stream needs two. */
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
      return git.waitFor() == 0 ? new String(said, StandardCharsets.UTF_8).strip() : UNKNOWN_COMMIT;
    } catch (IOException e) {
      return UNKNOWN_COMMIT;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return UNKNOWN_COMMIT;
    }
  }
}
