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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The lists of other routers' test properties name existing tests that are executed. */
final class PropertiesPagesTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern NAMED =
      Pattern.compile("`([A-Z]\\w+(?:Test|Properties))(?:\\.(\\w+))?`");
  private static final Pattern IS_RUN =
      Pattern.compile("(?m)^ *@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\\b");

  private static Map<String, String> tests() throws IOException {
    Map<String, String> sources = new TreeMap<>();
    for (String module :
        List.of(
            "core/engine",
            "core/request",
            "core/proxy",
            "core/pd",
            "test/data-plane",
            "router/config",
            "router/control",
            "router/kubernetes",
            "router/observe",
            "router/api",
            "router/batch",
            "compat/vllm-router",
            "compat/production-stack",
            "compat/ray-serve",
            "planes/haproxy",
            "router/server",
            "tools/demo",
            "test/it")) {
      try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/test/java"))) {
        for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
          String name = file.getFileName().toString().replace(".java", "");
          sources.merge(name, Files.readString(file), String::concat);
        }
      }
    }
    return sources;
  }

  /** True if the method exists and is executed as a test. */
  private static boolean runs(String source, String method) {
    Matcher declared = Pattern.compile("\\bvoid " + method + "\\(").matcher(source);
    while (declared.find()) {
      // Members are separated by empty lines; text before one belongs to the previous member.
      int from = Math.max(0, source.lastIndexOf("\n\n", declared.start()));
      if (IS_RUN.matcher(source.substring(from, declared.start())).find()) {
        return true;
      }
    }
    return false;
  }

  @Test
  void aMethodThatIsNotExecutedIsNoTest() {
    String source =
        """
        class ATest {
          @Test
          void isRun() {}

          // @Test
          void isNot() {}

          @ParameterizedTest
          @ValueSource(strings = {"a", "b"})
          void isRunWithArguments(String argument) throws Exception {}

          void calls() {
            isNot();
          }
        }
        """;

    assertThat(runs(source, "isRun")).isTrue();
    assertThat(runs(source, "isRunWithArguments")).isTrue();
    assertThat(runs(source, "isNot")).isFalse();
    assertThat(runs(source, "calls")).isFalse();
    assertThat(runs(source, "isGone")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"ray-properties.md", "production-stack-properties.md"})
  void everyNamedTestExists(String page) throws IOException {
    Map<String, String> sources = tests();
    Matcher named = NAMED.matcher(Files.readString(ROOT.resolve("docs/evidence").resolve(page)));
    List<String> missing = new ArrayList<>();
    int found = 0;
    while (named.find()) {
      found++;
      String source = sources.getOrDefault(named.group(1), "");
      String method = named.group(2);
      boolean runs = method == null ? IS_RUN.matcher(source).find() : runs(source, method);
      if (!runs) {
        missing.add(named.group());
      }
    }
    assertThat(found).isGreaterThan(50);
    assertThat(missing).isEmpty();
  }
}
