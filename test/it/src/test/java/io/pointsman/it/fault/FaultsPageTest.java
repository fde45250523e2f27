package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.RouterFault;
import io.pointsman.testkit.SplitFault;
import io.pointsman.testkit.client.ClientFault;
import io.pointsman.testkit.client.Cut;
import io.pointsman.testkit.client.HostileBody;
import io.pointsman.testkit.client.HostileRequest;
import io.pointsman.testkit.engine.EngineFault;
import io.pointsman.testkit.engine.FleetFault;
import io.pointsman.testkit.engine.RequestFault;
import io.pointsman.testkit.engine.WebSocketFault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/evidence/faults.md names every fault, and only existing tests. */
final class FaultsPageTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern NAME = Pattern.compile("`([A-Z][A-Z0-9_]+)`");
  private static final Pattern SECTION = Pattern.compile("`(\\w+Fault|Hostile\\w+)`");
  private static final Pattern TEST = Pattern.compile("\\b([A-Z]\\w+Test)\\b");

  private static final List<Class<? extends Enum<?>>> FAULTS =
      List.of(
          EngineFault.class,
          FleetFault.class,
          RequestFault.class,
          WebSocketFault.class,
          ClientFault.class,
          Cut.class,
          HostileRequest.class,
          HostileBody.class,
          RouterFault.class,
          SplitFault.class);

  @Test
  void namesEveryFaultAndNoOther() throws IOException {
    Set<String> faults =
        FAULTS.stream()
            .flatMap(type -> Stream.of(type.getEnumConstants()))
            .map(Enum::name)
            .collect(Collectors.toCollection(TreeSet::new));
    assertThat(found(NAME)).isEqualTo(faults);
  }

  @Test
  void everySectionHasExactlyOneRowForEachOfItsFaults() throws IOException {
    Map<String, Set<String>> expected = new TreeMap<>();
    for (Class<? extends Enum<?>> type : FAULTS) {
      // One table lists the places where a client LEAVES.
      Class<?> section = type == Cut.class ? ClientFault.class : type;
      Set<String> names = expected.computeIfAbsent(section.getSimpleName(), _ -> new TreeSet<>());
      for (Enum<?> each : type.getEnumConstants()) {
        names.add(each.name());
      }
    }
    Map<String, Set<String>> found = new TreeMap<>();
    for (Row row : rows()) {
      found.computeIfAbsent(row.faults(), _ -> new TreeSet<>()).addAll(row.names());
    }
    assertThat(found).isEqualTo(expected);
  }

  @Test
  void theTestOfEachRowShowsTheRoutersFault() throws IOException {
    for (Row row : rows()) {
      if (row.faults().equals(RouterFault.class.getSimpleName())) {
        for (String name : row.names()) {
          assertThat(shownBy(row.test()))
              .as("faults that %s shows", row.test())
              .contains(RouterFault.valueOf(name));
        }
      }
    }
  }

  private static Set<RouterFault> shownBy(String test) {
    try {
      Class<?> type = Class.forName(FaultsPageTest.class.getPackageName() + "." + test);
      return Stream.of(type.getDeclaredMethods())
          .map(method -> method.getAnnotation(Shows.class))
          .filter(Objects::nonNull)
          .map(Shows::value)
          .collect(Collectors.toCollection(() -> EnumSet.noneOf(RouterFault.class)));
    } catch (ClassNotFoundException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * A row of a table.
   *
   * @param faults the enum of its section; the first one if there are several
   * @param test text of the last column
   */
  private record Row(String faults, Set<String> names, String test) {}

  private static List<Row> rows() throws IOException {
    List<Row> rows = new ArrayList<>();
    String faults = "";
    for (String line : Files.readAllLines(ROOT.resolve("docs/evidence/faults.md"))) {
      if (line.startsWith("#")) {
        Matcher heading = SECTION.matcher(line);
        faults = heading.find() ? heading.group(1) : "";
      } else if (!faults.isEmpty() && line.startsWith("| `")) {
        String[] cells = line.split("\\|", -1);
        rows.add(new Row(faults, names(NAME, cells[1]), cells[cells.length - 2].strip()));
      }
    }
    return rows;
  }

  @Test
  void namedTestsExist() throws IOException {
    Set<String> all = new TreeSet<>();
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
            "compat/vllm-router",
            "compat/production-stack",
            "compat/ray-serve",
            "planes/haproxy",
            "router/server",
            "tools/demo",
            "tools/bench",
            "test/it")) {
      all.addAll(testsBelow(ROOT.resolve(module).resolve("src/test/java")));
    }
    assertThat(found(TEST)).isNotEmpty().isSubsetOf(all);
  }

  @Test
  void everyTestOfFaultsIsNamed() throws IOException {
    Set<String> tests = testsBelow(ROOT.resolve("test/it/src/test/java/io/pointsman/it/fault"));
    tests.remove(FaultsPageTest.class.getSimpleName());
    assertThat(found(TEST)).containsAll(tests);
  }

  private static Set<String> found(Pattern pattern) throws IOException {
    return names(pattern, Files.readString(ROOT.resolve("docs/evidence/faults.md")));
  }

  private static Set<String> names(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .map(match -> match.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> testsBelow(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith("Test.java"))
          .map(name -> name.replace(".java", ""))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }
}
