package io.pointsman.it;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.FormerKeys;
import io.pointsman.config.key.Key;
import io.pointsman.testkit.RepositoryFiles;
import io.pointsman.tool.demo.Tools;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import picocli.CommandLine;

/** Commands and links on the documentation pages are valid. */
final class DocumentationTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern FENCE = Pattern.compile("(?ms)^ *```[a-z]*\\n(.*?)^ *```");
  private static final Pattern LINK = Pattern.compile("]\\(([^)#\\s]+)(#[^)]*)?\\)");
  private static final Pattern LINK_WITHIN = Pattern.compile("]\\((#[^)\\s]+)\\)");
  private static final Pattern HEADING = Pattern.compile("(?m)^#{1,6} +(.*)$");
  private static final Pattern PAGE = Pattern.compile("(?<![\\w./-])docs/[\\w./-]+\\.(?:md|svg)");
  private static final Pattern TEST_FLAG = Pattern.compile("-Dtest='?([A-Za-z]+)");
  private static final Pattern MODULE_FLAG = Pattern.compile("-pl ([a-z,/-]+)");
  private static final Pattern FLAG = Pattern.compile("\\s(--[a-z][a-z-]*)");
  private static final Pattern CLASS =
      Pattern.compile("`(?:[a-z]+\\.)*([A-Z][a-z]\\w*)(?:\\.\\w+)?`");
  private static final Pattern KEY =
      Pattern.compile("`([a-z]+(?:-[a-z]+)*(?:\\.[a-z][a-z0-9-]*)+)(?:: [^`]*)?`");
  private static final Pattern METRIC =
      Pattern.compile("\\b(pointsman_[a-z_]*[a-z])(?<!_bucket|_sum|_count)\\b");
  private static final Pattern CAMEL_CASE = Pattern.compile("`([a-z]+[A-Z][A-Za-z]*)`");
  private static final Pattern MACHINE_PATH =
      Pattern.compile(
          "(?<![\\w.}~-])/(" + String.join("|", "work", "home", "root", "Users") + ")/");

  /** Words and clauses that the pages avoid (CONTRIBUTING.md). */
  private static final Pattern FORBIDDEN =
      Pattern.compile(
          "(?im)\\b(?:what|whose|whoever|whomever|whatever|whichever|told|tells?|telling|hears?"
              + "|heard|hearing|that which|those (?:that|which|who)|so that|of which|be it"
              + "|for good|no more than that|stands? at)\\b"
              + "|^#+ who\\b|\\| who\\b");

  private static final Pattern CODE_OR_TARGET = Pattern.compile("`[^`]*`|]\\([^)]*\\)");

  /** Line breaks within a paragraph. */
  private static final Pattern BREAK = Pattern.compile(" *\\n(?![#|\\n-]) *");

  /** Pages that programs write, and the one of figures, which is as wide as its tables. */
  private static final Set<String> OF_ANY_FORM =
      Set.of(
          "docs/reference/configuration.md",
          "docs/reference/flags.md",
          "docs/reference/metrics.md",
          "docs/dev/packages.md",
          "docs/evidence/routing-quality.md");

  private static final int MOST_LINES = 400;
  private static final int WIDEST = 100;

  /** Commands of the launcher itself, which are not part of the program. */
  private static final Set<String> OF_THE_LAUNCHER = Set.of("bench", "build");

  private static final Set<String> KEYS =
      ConfigKeys.all().stream().map(Key::path).collect(Collectors.toUnmodifiableSet());

  /** The keys with a hyphen, by their last parts as settings records name them. */
  private static final Map<String, String> COMPONENTS =
      ConfigKeys.all().stream()
          .map(Key::path)
          .filter(name -> name.contains("-"))
          .collect(Collectors.toMap(DocumentationTest::asComponent, name -> name, (a, _) -> a));

  /** The commands of the launcher; each call of the method builds them anew. */
  private static final CommandLine COMMANDS = Tools.root();

  /** Anchors by page: many links lead to one page. */
  private static final Map<Path, Set<String>> ANCHORS = new ConcurrentHashMap<>();

  private record Typed(String page, String line) {}

  static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>();
    try (Stream<Path> files = Files.list(ROOT)) {
      files.filter(file -> file.toString().endsWith(".md")).forEach(pages::add);
    }
    try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
      files.filter(file -> file.toString().endsWith(".md")).forEach(pages::add);
    }
    return pages.stream().sorted().toList();
  }

  /** Commands with the flags of other routers. */
  private static final Map<String, Function<List<String>, ConfigValues>> LAUNCHERS =
      Map.of(
          "vllm-router", words -> VllmRouterLauncher.translate(words, Map.of()),
          "production-stack", words -> ProductionStackLauncher.translate(words, Map.of()));

  @Test
  void launcherCommandsAndTheirFlagsExist() throws IOException {
    List<Typed> typed =
        typedLines().stream().filter(t -> t.line().startsWith("./pointsman ")).toList();

    assertThat(typed).isNotEmpty();
    assertThat(typed).allSatisfy(DocumentationTest::commandExists);
  }

  private static void commandExists(Typed typed) {
    String name = typed.line().replaceFirst("^\\S+\\s+", "").replaceFirst("\\s.*", "");
    if (name.isEmpty() || OF_THE_LAUNCHER.contains(name) || name.startsWith("-")) {
      return;
    }
    CommandLine command = COMMANDS.getSubcommands().get(name);
    if (command == null) {
      throw new AssertionError(typed.page() + ": " + typed.line() + " (expected: a command)");
    }
    if (LAUNCHERS.containsKey(name)) {
      translates(typed, LAUNCHERS.get(name));
      return;
    }
    String rest = typed.line().substring(typed.line().indexOf(name) + name.length()).strip();
    CommandLine nested = command.getSubcommands().get(rest.replaceFirst("\\s.*", ""));
    CommandLine called = nested == null ? command : nested;
    Matcher flags = FLAG.matcher(typed.line().replaceAll("[|&;#].*", ""));
    while (flags.find()) {
      assertThat(called.getCommandSpec().optionsMap().keySet())
          .as(typed.page() + ": " + typed.line())
          .contains(flags.group(1));
    }
  }

  /** Such a command parses its flags itself; it must accept the whole line. */
  private static void translates(Typed typed, Function<List<String>, ConfigValues> launcher) {
    String flags = typed.line().replaceFirst("^\\S+\\s+\\S+\\s*", "").replaceAll("\\s#.*", "");
    List<String> words = Pattern.compile("\\s+").splitAsStream(flags).toList();
    PointsmanConfig.from(launcher.apply(words));
  }

  @Test
  void mavenCommandsNameExistingModulesAndTests() throws IOException {
    for (Typed typed : typedLines()) {
      if (!typed.line().startsWith("mvn ")) {
        continue;
      }
      Matcher modules = MODULE_FLAG.matcher(typed.line());
      while (modules.find()) {
        assertThat(modules.group(1).split(","))
            .as(typed.line())
            .allSatisfy(module -> assertThat(ROOT.resolve(module).resolve("pom.xml")).exists());
      }
      Matcher tests = TEST_FLAG.matcher(typed.line());
      while (tests.find()) {
        assertThat(testClasses()).as(typed.line()).contains(tests.group(1) + ".java");
      }
    }
  }

  @Test
  void classesThatGuidesForDevelopersNameExist() throws IOException {
    Set<String> classes =
        RepositoryFiles.below(ROOT).stream()
            .map(file -> file.getFileName().toString())
            .filter(name -> name.endsWith(".java"))
            .map(name -> name.replace(".java", ""))
            .collect(Collectors.toSet());
    int found = 0;
    try (Stream<Path> guides = Files.list(ROOT.resolve("docs/dev"))) {
      for (Path guide : guides.filter(file -> file.toString().endsWith(".md")).toList()) {
        Matcher names = CLASS.matcher(Files.readString(guide));
        while (names.find()) {
          found++;
          assertThat(classes).as("%s: %s", guide, names.group()).contains(names.group(1));
        }
      }
    }

    assertThat(found).isGreaterThan(50);
  }

  @Test
  void scriptsInCommandsExist() throws IOException {
    for (Typed typed : typedLines()) {
      String script = typed.line().replaceFirst("\\s.*", "");
      if (script.matches("(\\./|\\.ci/|test/|tools/)[\\w./-]+")) {
        assertThat(ROOT.resolve(script)).as(typed.page() + ": " + typed.line()).isExecutable();
      }
    }
  }

  @ParameterizedTest
  @MethodSource("pages")
  void linksLeadToFiles(Path page) throws IOException {
    Matcher links = LINK.matcher(Files.readString(page));
    while (links.find()) {
      if (!links.group(1).matches("[a-z]+:.*")) {
        Path target = page.resolveSibling(links.group(1));
        assertThat(target).as(page.toString()).exists();
        if (links.group(2) != null && links.group(1).endsWith(".md")) {
          assertThat(anchors(target)).as("%s: %s", page, links.group()).contains(links.group(2));
        }
      }
    }
    Matcher within = LINK_WITHIN.matcher(Files.readString(page));
    while (within.find()) {
      assertThat(anchors(page)).as("%s: %s", page, within.group()).contains(within.group(1));
    }
  }

  /** The headings of a page as links name them: "#" and the words, joined by hyphens. */
  private static Set<String> anchors(Path page) {
    return ANCHORS.computeIfAbsent(page.normalize(), DocumentationTest::readAnchors);
  }

  private static Set<String> readAnchors(Path page) {
    return HEADING
        .matcher(FENCE.matcher(text(page)).replaceAll(""))
        .results()
        .map(heading -> heading.group(1).replaceAll("]\\([^)]*\\)", "").toLowerCase(Locale.ROOT))
        .map(text -> "#" + text.replaceAll("[^\\p{L}\\p{N} _-]", "").replace(' ', '-'))
        .collect(Collectors.toSet());
  }

  private static String text(Path page) {
    try {
      return Files.readString(page);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void pagesThatSourcesNameExist() throws IOException {
    List<String> missing = new ArrayList<>();
    int found = 0;
    for (Path file : textFiles()) {
      Matcher pages = PAGE.matcher(Files.readString(file, ISO_8859_1));
      while (pages.find()) {
        found++;
        if (!Files.exists(ROOT.resolve(pages.group()))) {
          missing.add(ROOT.relativize(file) + ": " + pages.group());
        }
      }
    }

    assertThat(found).isGreaterThan(20);
    assertThat(missing).isEmpty();
  }

  /** Tables, code and the targets of links may be wider. */
  @ParameterizedTest
  @MethodSource("pages")
  void pagesAreShortAndNarrow(Path page) throws IOException {
    if (OF_ANY_FORM.contains(ROOT.relativize(page).toString())) {
      return;
    }
    String text = Files.readString(page);
    assertThat(text.lines().count()).as(page.toString()).isLessThanOrEqualTo(MOST_LINES);
    assertThat(FENCE.matcher(text).replaceAll("").lines())
        .filteredOn(line -> !line.stripLeading().startsWith("|") && !line.startsWith("    "))
        .as(page.toString())
        .allMatch(line -> line.replaceAll("]\\([^)]*\\)", "]").length() <= WIDEST);
  }

  @ParameterizedTest
  @MethodSource("pages")
  void pagesHaveNoForbiddenWords(Path page) throws IOException {
    String text = FENCE.matcher(Files.readString(page)).replaceAll("");
    String prose = BREAK.matcher(CODE_OR_TARGET.matcher(text).replaceAll("`")).replaceAll(" ");

    assertThat(FORBIDDEN.matcher(prose).results().map(word -> word.group()))
        .as(page.toString())
        .isEmpty();
  }

  @ParameterizedTest
  @MethodSource("pages")
  void keysHaveTheirConfigurationNames(Path page) {
    assertThat(COMPONENTS).containsEntry("maxBufferedBody", "limits.max-buffered-body");
    Matcher words = CAMEL_CASE.matcher(text(page));
    while (words.find()) {
      assertThat(COMPONENTS.get(words.group(1))).as("%s: %s", page, words.group()).isNull();
    }
  }

  @Test
  void theUpgradePageListsEachFormerKey() throws IOException {
    String page = Files.readString(ROOT.resolve("docs/operate.md"));
    assertThat(FormerKeys.all())
        .allSatisfy(
            former ->
                assertThat(page)
                    .containsPattern(
                        "(?m)^\\| `%s`.* \\| `%s`".formatted(former.path(), former.key().path())));
  }

  /** Decisions may name rejected keys; the page on Kubernetes names values of the chart. */
  @ParameterizedTest
  @MethodSource("pages")
  void keysAndMetricsThatAreNamedExist(Path page) throws IOException {
    if (page.toString().contains("decisions")) {
      return;
    }
    Set<String> keys = new HashSet<>(KEYS);
    Set<String> topics =
        keys.stream()
            .filter(key -> key.contains("."))
            .map(DocumentationTest::topic)
            .collect(Collectors.toSet());
    String metrics = Files.readString(ROOT.resolve("docs/reference/metrics.md"));
    String text = withoutFormerNames(Files.readString(page));
    if (page.endsWith("kubernetes.md")) {
      keys.addAll(chartValues());
    }
    assertThat(names(KEY, text))
        .as(page.toString())
        .filteredOn(name -> topics.contains(topic(name)))
        .allMatch(keys::contains);
    assertThat(names(METRIC, text))
        .as(page.toString())
        .allMatch(name -> metrics.contains("`" + name));
  }

  /** Paths of the values of the Helm chart. */
  private static Set<String> chartValues() throws IOException {
    Object values =
        new Load(LoadSettings.builder().build())
            .loadFromString(Files.readString(ROOT.resolve("deploy/helm/pointsman/values.yaml")));
    Set<String> paths = new HashSet<>();
    addPaths("", values, paths);
    return paths;
  }

  private static void addPaths(String before, Object value, Set<String> paths) {
    if (value instanceof Map<?, ?> map) {
      map.forEach(
          (name, below) -> {
            paths.add(before + name);
            addPaths(before + name + ".", below, paths);
          });
    }
  }

  /** Without the first column of the tables of former names: those keys and metrics are gone. */
  private static String withoutFormerNames(String text) {
    int from = text.indexOf("\n### Former names\n");
    return from < 0
        ? text
        : text.substring(0, from) + text.substring(from).replaceAll("(?m)^\\|[^|]*\\|", "|");
  }

  private static List<String> names(Pattern pattern, String text) {
    return pattern.matcher(text).results().map(name -> name.group(1)).toList();
  }

  /** The part of a key before its first dot. */
  private static String topic(String key) {
    return key.substring(0, key.indexOf('.'));
  }

  /** The last part of a key, in the form used in settings records. */
  private static String asComponent(String key) {
    String last = key.substring(key.lastIndexOf('.') + 1);
    return Pattern.compile("-(.)")
        .matcher(last)
        .replaceAll(m -> m.group(1).toUpperCase(Locale.ROOT));
  }

  @Test
  void nothingContainsAPathOfADevelopersMachine() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path file : textFiles()) {
      Matcher paths = MACHINE_PATH.matcher(Files.readString(file, ISO_8859_1));
      if (paths.find()) {
        found.add(ROOT.relativize(file) + ": " + paths.group());
      }
    }

    assertThat(found).isEmpty();
  }

  /** All lines within code fences; continued lines are joined. */
  private static List<Typed> typedLines() throws IOException {
    List<Typed> lines = new ArrayList<>();
    for (Path page : pages()) {
      Matcher fences = FENCE.matcher(Files.readString(page));
      while (fences.find()) {
        for (String line : joined(fences.group(1)).lines().toList()) {
          String command = line.strip().replaceFirst("^\\$ ", "");
          lines.add(new Typed(ROOT.relativize(page).toString(), command));
        }
      }
    }
    return lines;
  }

  private static String joined(String lines) {
    return lines.replaceAll("\\\\\\n\\s*", " ");
  }

  private static List<String> testClasses() throws IOException {
    return RepositoryFiles.below(ROOT).stream()
        .map(file -> file.getFileName().toString())
        .filter(name -> name.endsWith("Test.java") || name.endsWith("Properties.java"))
        .toList();
  }

  private static List<Path> textFiles() throws IOException {
    Pattern text = Pattern.compile(".*\\.(md|java|xml|ya?ml|json|js|py|txt|config)|[^.]+");
    return RepositoryFiles.below(ROOT).stream()
        .filter(f -> text.matcher(f.getFileName().toString()).matches())
        .toList();
  }
}
