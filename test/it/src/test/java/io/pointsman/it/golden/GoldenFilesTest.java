package io.pointsman.it.golden;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.RepositoryFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Rules for all golden files, and the message of a difference. */
final class GoldenFilesTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));

  /** At least two capitals: a single word, for example Worker, is also plain English. */
  private static final Pattern CLASS_NAME = Pattern.compile("[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+");

  private static final Pattern PACKAGE_NAME = Pattern.compile("io\\.pointsman|io/pointsman");

  private static List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(GoldenFile.DIRECTORY)) {
      return files.sorted().toList();
    }
  }

  private static Set<String> classes() throws IOException {
    return RepositoryFiles.below(ROOT).stream()
        .map(file -> String.valueOf(file.getFileName()))
        .filter(name -> name.endsWith(".java"))
        .map(name -> name.replace(".java", ""))
        .collect(Collectors.toSet());
  }

  @Test
  void noFileNamesAClassOrAPackageOfOurs() throws IOException {
    Set<String> classes = classes();
    assertThat(classes).contains("GoldenFilesTest");
    for (Path file : files()) {
      String text = Files.readString(file);
      Set<String> named = new HashSet<>();
      CLASS_NAME.matcher(text).results().map(MatchResult::group).forEach(named::add);
      named.retainAll(classes);
      assertThat(named).as(file.toString()).isEmpty();
      assertThat(text).as(file.toString()).doesNotContainPattern(PACKAGE_NAME);
    }
  }

  @Test
  void aDifferenceShowsTheLinesBetweenCommonBeginningAndEnd() {
    assertThat(GoldenFile.difference("a\nb\nc\nd\n", "a\nx\ny\nd\n"))
        .isEqualTo("line 2\n- b\n- c\n+ x\n+ y\n");
    assertThat(GoldenFile.difference("a\nd\n", "a\nb\nd\n")).isEqualTo("line 2\n+ b\n");
    assertThat(GoldenFile.difference("", "a\n")).isEqualTo("line 1\n+ a\n");
  }

  @Test
  void aDifferenceIsShort() {
    String long1 = "x".repeat(1000) + "1" + "y".repeat(1000);
    String shown = GoldenFile.difference(long1, long1.replace('1', '2'));
    assertThat(shown).contains("x1y", "x2y").hasSizeLessThan(400);
    String many = "line\n".repeat(100);
    assertThat(GoldenFile.difference("", many)).endsWith("+ and 92 lines\n").hasLineCount(10);
  }
}
