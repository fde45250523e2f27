package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.RepositoryFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** All places that name the version of the release agree. */
final class ReleaseTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern IN_POM = Pattern.compile("<version>([^<]+)</version>");

  /** Names of archives and images, and options of the chart. */
  private static final Pattern NAMED =
      Pattern.compile(
          "(?:pointsman-|registry\\.example/pointsman:|image\\.tag=)(\\d+\\.\\d+\\.\\d+(?:-SNAPSHOT)?)");

  @Test
  void everyModuleHasTheVersionOfTheRelease() throws IOException {
    String version = version();
    List<Path> poms =
        RepositoryFiles.below(ROOT).stream().filter(file -> file.endsWith("pom.xml")).toList();
    assertThat(poms).hasSizeGreaterThan(20);
    for (Path pom : poms) {
      assertThat(first(IN_POM, Files.readString(pom))).as(pom.toString()).isEqualTo(version);
    }
  }

  @Test
  void theChartDeploysTheRelease() throws IOException {
    String chart = Files.readString(ROOT.resolve("deploy/helm/pointsman/Chart.yaml"));
    assertThat(first(Pattern.compile("(?m)^version: (.+)$"), chart)).isEqualTo(version());
    assertThat(first(Pattern.compile("(?m)^appVersion: (.+)$"), chart)).isEqualTo(version());
  }

  @Test
  void theChangelogBeginsWithTheRelease() throws IOException {
    String changelog = Files.readString(ROOT.resolve("CHANGELOG.md"));
    assertThat(first(Pattern.compile("(?m)^## \\[([^]]+)]"), changelog)).isEqualTo(version());
  }

  @Test
  void pagesNameTheRelease() throws IOException {
    List<String> named = new ArrayList<>();
    try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
      for (Path page : files.filter(file -> file.toString().endsWith(".md")).toList()) {
        Matcher found = NAMED.matcher(Files.readString(page));
        while (found.find()) {
          named.add(found.group(1));
        }
      }
    }
    assertThat(named).isNotEmpty().containsOnly(version());
  }

  private static String version() throws IOException {
    return first(IN_POM, Files.readString(ROOT.resolve("pom.xml")));
  }

  private static String first(Pattern pattern, String text) {
    Matcher found = pattern.matcher(text);
    assertThat(found.find()).as(pattern.pattern()).isTrue();
    return found.group(1);
  }
}
