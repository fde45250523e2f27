package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/evidence/attacks.md names many attacks, and only existing tests. */
final class AttacksPageTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern TEST = Pattern.compile("`([A-Z]\\w+Test)#(\\w+)`");
  private static final int LEAST_ROWS = 60;
  private static final List<String> GROUPS =
      List.of("core", "router", "compat", "planes", "tools", "test");

  /** The rows of all tables, without their heads. */
  private static List<String> rows() throws IOException {
    return Files.readAllLines(ROOT.resolve("docs/evidence/attacks.md")).stream()
        .takeWhile(line -> !line.equals("## h2spec"))
        .filter(line -> line.startsWith("| ") && !line.startsWith("| attack |"))
        .toList();
  }

  private static String lastCell(String row) {
    String[] cells = row.split("(?<!\\\\)\\|", -1);
    assertThat(cells).as(row).hasSize(5);
    return cells[3].strip();
  }

  @Test
  void thePageHasManyAttacks() throws IOException {
    assertThat(rows()).hasSizeGreaterThanOrEqualTo(LEAST_ROWS).doesNotHaveDuplicates();
    assertThat(ROOT.resolve("docs/security.md")).content().contains("(evidence/attacks.md)");
  }

  @Test
  void eachRowNamesExistingTests() throws IOException {
    List<Path> sources = sources();
    for (String row : rows()) {
      List<MatchResult> named = TEST.matcher(lastCell(row)).results().toList();
      assertThat(named).as(row).isNotEmpty();
      for (MatchResult test : named) {
        assertThat(sources)
            .as("%s in %s", test.group(), row)
            .filteredOn(file -> file.endsWith(test.group(1) + ".java"))
            .anySatisfy(
                file ->
                    assertThat(file).content().containsPattern("\\bvoid " + test.group(2) + "\\("));
      }
    }
  }

  private static List<Path> sources() throws IOException {
    List<Path> sources = new ArrayList<>();
    for (String group : GROUPS) {
      try (Stream<Path> modules = Files.list(ROOT.resolve(group))) {
        for (Path module : modules.toList()) {
          Path tests = module.resolve("src/test/java");
          if (Files.isDirectory(tests)) {
            try (Stream<Path> files = Files.walk(tests)) {
              files.filter(file -> file.toString().endsWith("Test.java")).forEach(sources::add);
            }
          }
        }
      }
    }
    return sources;
  }
}
