package io.pointsman.it;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.pointsman.testkit.RepositoryFiles;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Allowed dependencies between all shipped modules. */
final class ArchitectureTest extends RouterRules {
  private static final Set<String> CORE = Set.of("engine", "request", "proxy", "pd");

  /** Each module by its package below {@code io.pointsman}, with the modules that it may use. */
  private static final Map<String, Set<String>> ARROWS =
      Map.ofEntries(
          Map.entry("engine", Set.of()),
          Map.entry("request", Set.of("engine")),
          Map.entry("proxy", Set.of("engine", "request")),
          Map.entry("pd", Set.of("engine", "request", "proxy")),
          Map.entry("config", CORE),
          Map.entry("control", with(CORE, "config")),
          Map.entry("kubernetes", with(CORE, "config")),
          Map.entry("observe", with(CORE, "config", "control")),
          Map.entry("api", with(CORE, "config", "control", "observe")),
          Map.entry("batch", with(CORE, "config")),
          Map.entry("compat", with(CORE, "config")),
          // Control has the rounds and the look-ups of names; decisions come from the api.
          Map.entry("plane", with(CORE, "api", "control")),
          Map.entry(
              "server",
              with(
                  CORE,
                  "config",
                  "control",
                  "kubernetes",
                  "observe",
                  "api",
                  "batch",
                  "compat",
                  "plane")),
          Map.entry("tool.sim", Set.of()),
          Map.entry("tool.replay", Set.of("engine", "tool.sim")),
          Map.entry(
              "tool.demo",
              with(
                  CORE,
                  "config",
                  "control",
                  "observe",
                  "server",
                  "plane",
                  "tool.sim",
                  "tool.replay")),
          Map.entry(
              "tool.bench",
              Set.of(
                  "engine",
                  "request",
                  "config",
                  "server",
                  "tool.sim",
                  "tool.replay",
                  "tool.demo")));

  /** All shipped classes, also of modules that {@link #ARROWS} does not name yet. */
  static final JavaClasses ALL =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(location -> !location.contains("/test-classes/"))
          .withImportOption(location -> !location.contains("/io/pointsman/testkit/"))
          .importPackages("io.pointsman");

  private static final JavaClasses SHIPPED =
      ALL.that(resideOutsideOfPackages("io.pointsman.tool.bench.."));

  private static Set<String> with(Set<String> some, String... more) {
    Set<String> all = new TreeSet<>(some);
    all.addAll(List.of(more));
    return all;
  }

  static Set<String> modules() {
    return ARROWS.keySet();
  }

  @ParameterizedTest
  @MethodSource("modules")
  void everyModuleIsChecked(String module) {
    assertThat(ALL.that(resideInAPackage("io.pointsman." + module + ".."))).isNotEmpty();
  }

  @Test
  void everyClassIsOfAModule() {
    String[] modules =
        modules().stream().map(name -> "io.pointsman." + name + "..").toArray(String[]::new);
    assertThat(ALL.that(resideOutsideOfPackages(modules))).extracting(JavaClass::getName).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("modules")
  void aModuleUsesOnlyModulesBelowIt(String module) {
    String[] allowed =
        with(ARROWS.getOrDefault(module, Set.of()), module).stream()
            .map(name -> "io.pointsman." + name + "..")
            .toArray(String[]::new);
    noClasses()
        .that()
        .resideInAPackage("io.pointsman." + module + "..")
        .should()
        .dependOnClassesThat(
            resideInAPackage("io.pointsman..").and(resideOutsideOfPackages(allowed)))
        .check(ALL);
  }

  /**
   * An arrow of the layout.
   *
   * @param words the arrow in words
   * @param layer a package below {@code io.pointsman}
   * @param arrow layers that it may use
   * @param beyond layers that it uses although the layout has no arrow to them
   */
  record Arrow(String words, String layer, Set<String> arrow, Set<String> beyond) {
    @Override
    public String toString() {
      return layer + ": " + words;
    }
  }

  static List<Arrow> layout() {
    String core = "engine <- request <- proxy <- pd";
    String router = "router/* -> core";
    return List.of(
        new Arrow(core, "engine", Set.of(), Set.of()),
        new Arrow(core, "request", Set.of("engine"), Set.of()),
        new Arrow(core, "proxy", Set.of("engine", "request"), Set.of()),
        new Arrow(core, "pd", Set.of("engine", "request", "proxy"), Set.of()),
        new Arrow(router, "config", CORE, Set.of()),
        new Arrow(router, "control", CORE, Set.of("config")),
        new Arrow(router, "kubernetes", CORE, Set.of("config")),
        new Arrow(router, "observe", CORE, Set.of("config", "control")),
        new Arrow(router, "api", CORE, Set.of("config", "control", "observe")),
        new Arrow(router, "batch", CORE, Set.of("config")),
        // The configuration has workers, roles and protocols as values.
        new Arrow("compat -> config", "compat", Set.of("config"), Set.of("engine", "pd")),
        // The service is a local endpoint of the proxy. Names and rounds come from control.
        new Arrow(
            "planes -> api's decision service",
            "plane",
            Set.of("api"),
            Set.of("control", "engine", "proxy")),
        // The demo configures a router and its clock and log, and starts HAProxy.
        new Arrow(
            "tools -> core, server",
            "tool",
            with(CORE, "server"),
            Set.of("config", "control", "observe", "plane")));
  }

  @ParameterizedTest
  @MethodSource("layout")
  void theLayoutIsAsDrawn(Arrow each) {
    Set<String> used = used(each.layer());
    used.removeAll(each.arrow());

    assertThat(used).containsExactlyInAnyOrderElementsOf(each.beyond());
  }

  /** The layers that a layer uses, without itself. */
  private static Set<String> used(String layer) {
    Set<String> used =
        ALL.that(resideInAPackage("io.pointsman." + layer + "..")).stream()
            .flatMap(each -> each.getDirectDependenciesFromSelf().stream())
            .map(each -> each.getTargetClass().getBaseComponentType().getPackageName())
            .filter(name -> name.startsWith("io.pointsman."))
            .map(name -> name.split("\\.", -1)[2])
            .collect(Collectors.toCollection(TreeSet::new));
    used.remove(layer);
    return used;
  }

  @Test
  void onlyServerKnowsAllOfTheRouter() {
    Set<String> router = Set.of("config", "control", "kubernetes", "observe", "api", "batch");
    Set<String> layers = with(router, "compat", "plane", "tool", "server");

    assertThat(layers).filteredOn(layer -> used(layer).containsAll(router)).containsOnly("server");
    for (String last : List.of("kubernetes", "batch", "compat")) {
      assertThat(layers).filteredOn(layer -> used(layer).contains(last)).containsOnly("server");
    }
  }

  /** Beside it, planes use the reader of JSON and the list of paths that are not for clients. */
  @Test
  void planesUseTheDecisionServiceOfTheApi() {
    noClasses()
        .that()
        .resideInAPackage("io.pointsman.plane..")
        .should()
        .dependOnClassesThat(
            resideInAPackage("io.pointsman.api..")
                .and(resideOutsideOfPackages("io.pointsman.api.decide.."))
                .and(
                    not(nameMatching("io\\.pointsman\\.api\\.admin\\.(Json|ClientPaths)(\\$.*)?"))))
        .check(ALL);
  }

  @Test
  void nothingShippedPointsAtToolsOrTests() {
    noClasses()
        .that(resideOutsideOfPackages("io.pointsman.tool.."))
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "io.pointsman.tool..",
            "io.pointsman.testkit..",
            "io.pointsman.it..",
            "org.junit..",
            "org.assertj..")
        .check(ALL);
  }

  @Test
  void engineNeedsOnlyTheJdkAndJSpecify() {
    holds(
        classes()
            .that()
            .resideInAPackage("io.pointsman.engine..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage("io.pointsman.engine..", "java..", "org.jspecify.annotations"));
  }

  @Test
  void engineDoesNoInputOrOutput() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("io.pointsman.engine..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                "java.net..", "java.nio.channels..", "java.nio.file..", "java.util.logging.."));
  }

  /** Its classes cost memory and time; only a router with discovery may load them. */
  @Test
  void onlyTheKubernetesModuleKnowsItsClient() {
    holds(
        noClasses()
            .that()
            .resideOutsideOfPackage("io.pointsman.kubernetes..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.fabric8.."));
    assertThat(callersOf("io.pointsman.kubernetes.PodDiscovery", "open"))
        .containsExactly("io.pointsman.server.wiring.Discovery.prepared");
  }

  @Test
  void requestIsReadWithoutANetwork() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("io.pointsman.request..")
            .should()
            .dependOnClassesThat(
                // The encoder is of the package, but uses no network.
                resideInAnyPackage("io.netty..", "java.net..", "com.fasterxml.jackson.databind..")
                    .and(not(equivalentTo(URLEncoder.class)))));
  }

  @Test
  void simulatorUsesZeroMqInOnePackage() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("io.pointsman.tool.sim..")
            .and()
            .resideOutsideOfPackage("io.pointsman.tool.sim.zmq..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.zeromq..", "org.msgpack.."));
  }

  @Test
  void handOverProtocolsAreReadWithoutANetwork() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage("io.pointsman.tool.sim.kv", "io.pointsman.tool.sim.kv.protocol..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.netty..", "java.net.http..", "io.pointsman.tool.sim.zmq.."));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "io.pointsman.proxy.ProxyServer",
        "io.pointsman.proxy.ProxyContext",
        "io.pointsman.engine.RoutingEngine",
        "io.pointsman.engine.fleet.Fleet",
        "io.pointsman.observe.metrics.RouterMetrics"
      })
  void onlyWiringConstructsAdapters(String adapter) {
    Set<String> makers = callersOf(adapter, "<init>", "start");
    makers.removeIf(maker -> maker.startsWith(adapter + "."));
    // A replay creates its own engine, under simulated time.
    makers.removeIf(maker -> maker.startsWith("io.pointsman.tool.replay.run.Simulation."));
    // A shadow policy decides over a copy of the fleet without traffic.
    makers.removeIf(maker -> maker.startsWith("io.pointsman.engine.shadow."));

    assertThat(makers)
        .isNotEmpty()
        .allSatisfy(maker -> assertThat(maker).startsWith("io.pointsman.server.wiring."));
  }

  @Test
  void clockAndChanceAreParameters() {
    holds(
        noClasses()
            .that(
                resideOutsideOfPackages(
                    "io.pointsman.server.wiring..",
                    "io.pointsman.server.scheduling..",
                    "io.pointsman.control.env..",
                    "io.pointsman.tool.demo..",
                    "io.pointsman.server.cli.."))
            .and()
            .doNotHaveFullyQualifiedName("io.pointsman.tool.sim.SimEngine")
            .should()
            .callMethodWhere(
                target(nameMatching("nanoTime|currentTimeMillis"))
                    .and(target(owner(nameMatching("java\\.lang\\.System")))))
            .orShould()
            .callMethodWhere(
                target(nameMatching("sleep"))
                    .and(target(owner(nameMatching("java\\.lang\\.Thread")))))
            .orShould()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.util.concurrent.ThreadLocalRandom"));
  }

  @Test
  void namesDescribeTheThing() {
    holds(
        noClasses()
            .should()
            .haveNameMatching(".*(Impl|Manager|Utils?|Helper|Base|Abstract[A-Za-z]*)(\\$.*)?"));
  }

  /** A reader searches for a class by its name. Nested classes have the name of their owner too. */
  @Test
  void eachClassNameOccursOnceInAllModules() throws IOException {
    Map<String, List<Path>> files =
        sources(Path.of(System.getProperty("pointsman.root", "..")))
            .collect(Collectors.groupingBy(file -> String.valueOf(file.getFileName())));
    files.remove("package-info.java");

    assertThat(files).containsKeys("RoutingEngine.java", "ArchitectureTest.java");
    assertThat(files.values()).allSatisfy(same -> assertThat(same).hasSize(1));
  }

  /** All sources of the modules, also of tests. */
  private static Stream<Path> sources(Path root) throws IOException {
    return RepositoryFiles.below(root).stream()
        .filter(file -> file.toString().endsWith(".java"))
        .filter(file -> file.toString().contains("/src/"));
  }

  @Test
  void everyPackageIsNullMarked() throws ClassNotFoundException {
    Set<String> packages =
        SHIPPED.stream()
            .map(JavaClass::getPackageName)
            .collect(Collectors.toCollection(TreeSet::new));
    for (String name : packages) {
      Class<?> info = Class.forName(name + ".package-info");
      assertThat(info.isAnnotationPresent(NullMarked.class)).as(name).isTrue();
    }
  }

  @Test
  void countsMoveOnlyThroughLeases() {
    String fleet = "io.pointsman.engine.fleet.";
    assertThat(callersOf(fleet + "LoadBoard", "enterIf"))
        .containsExactly(fleet + "WorkerCell.enterIf");
    assertThat(callersOf(fleet + "LoadBoard", "leave")).containsExactly(fleet + "WorkerCell.exit");
    assertThat(callersOf(fleet + "WorkerCell", "enterIf"))
        .containsExactly(fleet + "WorkerLeases.enter");
    assertThat(callersOf(fleet + "WorkerCell", "exit"))
        .containsExactlyInAnyOrder(fleet + "WorkerLeases.take", fleet + "WorkerLeases.exit");
    assertThat(callersOf(fleet + "WorkerLeases", "exit", "settled"))
        .containsExactly(fleet + "Lease.settle");
  }

  /** Changes of a count must add or subtract one; the flags beside it are set bit by bit. */
  @Test
  void nothingResetsACount() throws IOException {
    Set<String> called =
        SHIPPED.get("io.pointsman.engine.fleet.LoadBoard").getAccessesFromSelf().stream()
            .map(access -> access.getTarget().getName())
            .collect(Collectors.toCollection(TreeSet::new));
    Path source =
        Path.of(System.getProperty("pointsman.root", ".."))
            .resolve("core/engine/src/main/java/io/pointsman/engine/fleet/LoadBoard.java");

    assertThat(called)
        .contains("compareAndExchange")
        .noneMatch(name -> name.matches("set|(set|lazySet|getAndSet)[A-Z]?[a-z]*"));
    assertThat(Files.readString(source)).doesNotContainPattern("cells\\[[^\\]]*\\]\\s*=[^=]");
  }

  @Test
  void rulesCanFail() {
    ArchRule wrong =
        noClasses()
            .that()
            .resideInAPackage("io.pointsman.proxy..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.pointsman.engine..");

    assertThatThrownBy(() -> holds(wrong)).isInstanceOf(AssertionError.class);
  }

  private static Set<String> callersOf(String owner, String... methods) {
    return SHIPPED.stream()
        .flatMap(origin -> origin.getAccessesFromSelf().stream())
        .filter(access -> access.getTargetOwner().getName().equals(owner))
        .filter(access -> Arrays.asList(methods).contains(access.getTarget().getName()))
        .map(access -> access.getOriginOwner().getName() + "." + access.getOrigin().getName())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static void holds(ArchRule rule) {
    rule.check(SHIPPED);
  }
}
