package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The list of Ray's test properties beside ours names tests that exist. */
final class RayPropertiesPageTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern NAMED =
      Pattern.compile("`([A-Z]\\w+(?:Test|Properties))(?:\\.(\\w+))?`");

  private static Map<String, String> tests() throws IOException {
    Map<String, String> sources = new TreeMap<>();
    for (String module : List.of("engine", "request", "proxy", "app", "it")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/test/java"))) {
        for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
          String name = file.getFileName().toString().replace(".java", "");
          sources.merge(name, Files.readString(file), String::concat);
        }
      }
    }
    return sources;
  }

  @Test
  void everyTestThatIsNamedExists() throws IOException {
    Map<String, String> sources = tests();
    Matcher named = NAMED.matcher(Files.readString(ROOT.resolve("docs/ray-properties.md")));
    List<String> missing = new ArrayList<>();
    int found = 0;
    while (named.find()) {
      found++;
      String source = sources.getOrDefault(named.group(1), "");
      String method = named.group(2);
      if (source.isEmpty() || (method != null && !source.contains("void " + method + "("))) {
        missing.add(named.group());
      }
    }
    assertThat(found).isGreaterThan(50);
    assertThat(missing).isEmpty();
  }
}
