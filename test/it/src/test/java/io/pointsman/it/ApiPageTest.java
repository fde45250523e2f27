package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.reply.ErrorCode;
import io.pointsman.proxy.reply.LocalError;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.testkit.RepositoryFiles;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The page of the HTTP API lists every route and error code of the code, and no others. */
final class ApiPageTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern ON_PAGE = Pattern.compile("`([A-Z]+) (/[^`?]*)");

  /** A route of the router's own: whether it is a prefix, method, path or the name of one. */
  private static final Pattern LOCAL =
      Pattern.compile("routes\\.(on|below)\\(\\s*\"([A-Z]+)\",\\s*(?:\"([^\"]+)\"|([\\w.]+)),");

  private static final Pattern FOR_WORKERS = Pattern.compile("new Route\\(\\s*\"([^\"]+)\"");
  private static final Pattern CONSTANT = Pattern.compile("String ([A-Z_]+) = \"(/[^\"]*)\"");
  private static final Pattern CODE = Pattern.compile("\"code\":\"([a-z_]+)\"");
  private static final Pattern ERROR = Pattern.compile("\\b(LocalError|ProxyError)\\.([A-Z_]+)");
  private static final Pattern ROW = Pattern.compile("(?m)^\\| (\\d{3}) \\| (.*) \\|$");

  @Test
  void everyRouteIsOnThePageAndNoOther() throws IOException {
    Set<String> exact = new TreeSet<>();
    Set<String> prefixes = new TreeSet<>();
    for (Path file : sources()) {
      String source = Files.readString(file);
      LOCAL.matcher(source).results().forEach(route -> add(route, source, exact, prefixes));
      FOR_WORKERS.matcher(source).results().forEach(route -> exact.add("POST " + route.group(1)));
    }
    Set<String> onPage =
        ON_PAGE
            .matcher(page())
            .results()
            .map(route -> route.group(1) + " " + route.group(2))
            // Of a stored response: read by patterns, not listed.
            .filter(route -> !route.contains(" /v1/responses/"))
            // Of WebSockets: the only route with another method than POST.
            .filter(route -> !route.equals("GET /v1/realtime"))
            .collect(Collectors.toCollection(TreeSet::new));

    assertThat(exact).hasSizeGreaterThan(40);
    assertThat(prefixes).hasSizeGreaterThan(3);
    assertThat(onPage).containsAll(exact);
    assertThat(prefixes)
        .allSatisfy(prefix -> assertThat(onPage).anyMatch(route -> route.startsWith(prefix)));
    assertThat(onPage)
        .allSatisfy(
            route ->
                assertThat(exact.contains(route) || prefixes.stream().anyMatch(route::startsWith))
                    .as(route)
                    .isTrue());
  }

  private static void add(
      MatchResult route, String source, Set<String> exact, Set<String> prefixes) {
    String path = route.group(3) == null ? constant(route.group(4), source) : route.group(3);
    if (path != null) {
      (route.group(1).equals("on") ? exact : prefixes).add(route.group(2) + " " + path);
    }
  }

  /** The value of a constant of this source, or of another class; null if it is none. */
  private static @Nullable String constant(String name, String source) {
    String bare = name.substring(name.lastIndexOf('.') + 1);
    Matcher here = CONSTANT.matcher(source);
    while (here.find()) {
      if (here.group(1).equals(bare) && !name.contains(".")) {
        return here.group(2);
      }
    }
    return elsewhere().get(name);
  }

  /** Constants by class and name. */
  private static Map<String, String> elsewhere() {
    Map<String, String> constants = new TreeMap<>();
    try {
      for (Path file : sources()) {
        String type = file.getFileName().toString().replace(".java", ".");
        CONSTANT
            .matcher(Files.readString(file))
            .results()
            .forEach(found -> constants.put(type + found.group(1), found.group(2)));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return constants;
  }

  @Test
  void everyErrorIsOnThePageWithItsStatus() throws IOException {
    Map<String, Set<String>> expected = new TreeMap<>();
    for (ProxyError error : ProxyError.values()) {
      Matcher code = CODE.matcher(error.json(error.message()));
      assertThat(code.find()).isTrue();
      expected
          .computeIfAbsent(String.valueOf(error.status()), _ -> new TreeSet<>())
          .add(code.group(1));
    }
    Map<String, Set<String>> onPage = new TreeMap<>();
    Matcher rows = ROW.matcher(page().substring(page().indexOf("## Errors of the router")));
    while (rows.find()) {
      Set<String> codes = new TreeSet<>();
      Matcher each = Pattern.compile("`([a-z_]+)`").matcher(rows.group(2));
      while (each.find()) {
        codes.add(each.group(1));
      }
      onPage.put(rows.group(1), codes);
    }
    assertThat(onPage).isEqualTo(expected);
  }

  @Test
  void everyErrorOfFilesAndBatchesIsOnThePage() throws IOException {
    String page = page();
    String section =
        page.substring(page.indexOf("## Files and batches"), page.indexOf("## With certain keys"));
    Set<String> expected = new TreeSet<>();
    for (Path file : sources()) {
      if (file.startsWith(ROOT.resolve("router/batch"))) {
        ERROR
            .matcher(Files.readString(file))
            .results()
            .map(named -> error(named.group(1), named.group(2)))
            .forEach(error -> expected.add(error.status() + " " + error.code()));
      }
    }
    Set<String> onPage = new TreeSet<>();
    ROW.matcher(section)
        .results()
        .forEach(
            row ->
                Pattern.compile("`([a-z_]+)`")
                    .matcher(row.group(2))
                    .results()
                    .forEach(code -> onPage.add(row.group(1) + " " + code.group(1))));
    assertThat(expected).hasSizeGreaterThan(5);
    assertThat(onPage).isEqualTo(expected);
  }

  private static ErrorCode error(String type, String name) {
    return type.equals("LocalError") ? LocalError.valueOf(name) : ProxyError.valueOf(name);
  }

  private static String page() throws IOException {
    return Files.readString(ROOT.resolve("docs/reference/api.md"));
  }

  /** The sources of everything that ships, in all modules. */
  private static List<Path> sources() throws IOException {
    Set<String> skipped = Set.of("sim", "bench", "testkit");
    return RepositoryFiles.below(ROOT).stream()
        .filter(file -> file.toString().endsWith(".java"))
        .filter(file -> file.toString().contains("/src/main/java/"))
        .filter(
            file ->
                Arrays.stream(ROOT.relativize(file).toString().split("/"))
                    .takeWhile(part -> !part.equals("src"))
                    .noneMatch(skipped::contains))
        .toList();
  }
}
