package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.GeneratedPage;
import io.pointsman.testkit.RepositoryFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The log lines of the table of symptoms are in the code. */
class OperatePageTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");
  private static final Pattern JOINT = Pattern.compile("\"\\s*\\+\\s*\"");

  private static final String CODE = readSources();

  private static String readSources() {
    StringBuilder text = new StringBuilder();
    for (String group : List.of("core", "router", "planes")) {
      try {
        for (Path file : RepositoryFiles.below(ROOT.resolve(group))) {
          text.append(isSource(file) ? Files.readString(file) : "");
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return JOINT.matcher(text).replaceAll("").replace("{}", "…");
  }

  private static boolean isSource(Path file) {
    return file.toString().contains("/src/main/java/") && file.toString().endsWith(".java");
  }

  /** True if the code contains the constant parts of a line in this order. */
  private static boolean logged(String quoted) {
    // Anything may be before the first constant part. A search for a text is much faster than that
    // for a pattern.
    String line = quoted.replaceFirst("^…+", "");
    StringBuilder pattern = new StringBuilder();
    for (String part : line.split("…", -1)) {
      pattern.append(pattern.isEmpty() ? "" : "[^\\n]{0,120}?").append(Pattern.quote(part));
    }
    String first = line.substring(0, (line + "…").indexOf('…'));
    Matcher matcher = Pattern.compile(pattern.toString()).matcher(CODE);
    for (int at = CODE.indexOf(first); at >= 0; at = CODE.indexOf(first, at + 1)) {
      if (matcher.region(at, CODE.length()).lookingAt()) {
        return true;
      }
    }
    return false;
  }

  private static List<String> symptoms() throws IOException {
    String page = new GeneratedPage("operate.md").text();
    int from = page.indexOf("### By symptom");
    return page.substring(from, page.indexOf("\n##", from + 1))
        .lines()
        .filter(line -> line.startsWith("| ") && !line.startsWith("| symptom"))
        .toList();
  }

  @Test
  void everyLogLineIsInTheCode() throws IOException {
    assertThat(symptoms()).hasSizeGreaterThanOrEqualTo(20);
    List<String> lines =
        symptoms().stream()
            .map(row -> row.split(" \\| ", -1)[1])
            .flatMap(cell -> QUOTED.matcher(cell).results().map(OperatePageTest::quoted))
            .filter(text -> text.contains(" ") && !text.startsWith("GET "))
            .toList();
    assertThat(lines).hasSizeGreaterThan(15);
    assertThat(lines).allSatisfy(line -> assertThat(logged(line)).as(line).isTrue());
  }

  @Test
  void aLineThatNobodyLogsIsFound() {
    assertThat(logged("worker … is unhealthy: …")).isTrue();
    assertThat(logged("worker … is under the weather: …")).isFalse();
  }

  private static String quoted(MatchResult found) {
    return found.group(1);
  }
}
