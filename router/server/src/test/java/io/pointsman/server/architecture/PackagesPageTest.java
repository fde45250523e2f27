package io.pointsman.server.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.GeneratedPage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/dev/packages.md contains the {@code package-info} of each package. */
class PackagesPageTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final List<String> MODULES =
      List.of(
          "core/engine",
          "core/request",
          "core/proxy",
          "core/pd",
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
          "tools/sim",
          "tools/replay");
  private static final Pattern DOC = Pattern.compile("/\\*\\*(.*?)\\*/", Pattern.DOTALL);
  private static final Pattern CODE = Pattern.compile("\\{@(?:code|link|linkplain) ([^}]*)}");

  @Test
  void thePageGivesThePurposeOfEachPackage() throws IOException {
    new GeneratedPage("dev/packages.md").assertIs(page());
  }

  @Test
  void everyPackageHasALine() throws IOException {
    for (String module : MODULES) {
      try (Stream<Path> files = Files.walk(sources(module))) {
        List<Path> folders =
            files
                .filter(file -> file.toString().endsWith(".java"))
                .map(Path::getParent)
                .distinct()
                .toList();
        assertThat(folders).isNotEmpty();
        assertThat(folders)
            .allSatisfy(folder -> assertThat(folder.resolve("package-info.java")).exists());
      }
    }
  }

  private static String page() throws IOException {
    StringBuilder page =
        new StringBuilder(
            """
            # Packages

            The purpose of each shipped package, by module, below `io.pointsman`. [Architecture](architecture.md) shows the allowed dependencies.

            `PackagesPageTest` generates this page from the `package-info.java` files.
            """);
    for (String module : MODULES) {
      page.append("\n## ").append(module).append("\n\n| package | purpose |\n|---|---|\n");
      try (Stream<Path> files = Files.walk(sources(module))) {
        files
            .filter(file -> file.endsWith("package-info.java"))
            .map(Path::getParent)
            .sorted()
            .forEach(folder -> page.append(line(module, folder)));
      }
    }
    return page.toString();
  }

  private static String line(String module, Path folder) {
    Path base = sources(module);
    String name = base.relativize(folder).toString().replace('/', '.');
    try {
      Matcher doc = DOC.matcher(Files.readString(folder.resolve("package-info.java")));
      assertThat(doc.find()).as("%s says what it is for", name).isTrue();
      String text = doc.group(1).replaceAll("\\n\\s*\\*", " ").replaceAll("\\s+", " ").strip();
      text = CODE.matcher(text.replaceAll(" <p>.*", "")).replaceAll("`$1`");
      return "| `" + name + "` | " + text.replace("|", "\\|") + " |\n";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path sources(String module) {
    return ROOT.resolve(module).resolve("src/main/java/io/pointsman");
  }
}
