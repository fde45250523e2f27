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
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The page of faults names every fault, and only tests that exist. */
final class FaultsPageTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern NAME = Pattern.compile("`([A-Z][A-Z0-9_]+)`");
  private static final Pattern TEST = Pattern.compile("\\b([A-Z]\\w+Test)\\b");

  private static final List<Class<? extends Enum<?>>> FAULTS =
      List.of(
          EngineFault.class,
          FleetFault.class,
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
  void testsThatItNamesExist() throws IOException {
    Set<String> all = new TreeSet<>();
    for (String module : List.of("engine", "request", "proxy", "app", "it", "bench")) {
      all.addAll(testsBelow(ROOT.resolve(module).resolve("src/test/java")));
    }
    assertThat(found(TEST)).isNotEmpty().isSubsetOf(all);
  }

  @Test
  void everyTestOfFaultsIsNamed() throws IOException {
    Set<String> tests = testsBelow(ROOT.resolve("it/src/test/java/io/pointsman/it/fault"));
    tests.remove(FaultsPageTest.class.getSimpleName());
    assertThat(found(TEST)).containsAll(tests);
  }

  private static Set<String> found(Pattern pattern) throws IOException {
    return pattern
        .matcher(Files.readString(ROOT.resolve("docs/faults.md")))
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
