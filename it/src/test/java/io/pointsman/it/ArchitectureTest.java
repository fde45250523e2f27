package io.pointsman.it;

import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
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
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Allowed dependencies between all shipped modules. */
final class ArchitectureTest {
  private static final JavaClasses SHIPPED =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages(
              "io.pointsman.engine",
              "io.pointsman.request",
              "io.pointsman.proxy",
              "io.pointsman.kubernetes",
              "io.pointsman.sim",
              "io.pointsman.replay",
              "io.pointsman.app");

  private static final JavaClasses BENCH =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.pointsman.bench");

  @Test
  void everyModuleIsChecked() {
    assertThat(BENCH).isNotEmpty();
    for (String module :
        List.of("engine", "request", "proxy", "kubernetes", "sim", "replay", "app")) {
      assertThat(SHIPPED.that(resideInAPackage("io.pointsman." + module + "..")))
          .as(module)
          .isNotEmpty();
    }
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

  @ParameterizedTest
  @CsvSource({
    "engine, request",
    "engine, proxy",
    "engine, sim",
    "engine, app",
    "request, proxy",
    "request, sim",
    "request, app",
    "proxy, sim",
    "proxy, app",
    "sim, engine",
    "sim, request",
    "sim, proxy",
    "sim, app",
    "engine, kubernetes",
    "request, kubernetes",
    "proxy, kubernetes",
    "sim, kubernetes",
    "kubernetes, request",
    "kubernetes, proxy",
    "kubernetes, sim",
    "kubernetes, app",
    "engine, replay",
    "request, replay",
    "proxy, replay",
    "kubernetes, replay",
    "sim, replay",
    "replay, request",
    "replay, proxy",
    "replay, kubernetes",
    "replay, app"
  })
  void moduleDoesNotUse(String module, String other) {
    holds(
        noClasses()
            .that()
            .resideInAPackage("io.pointsman." + module + "..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.pointsman." + other + ".."));
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
    assertThat(callersOf("io.pointsman.kubernetes.PodDiscovery", "start"))
        .containsExactly("io.pointsman.app.wiring.Discovery.start");
  }

  @Test
  void nothingShippedUsesTheTestkitOrTheBenchmarks() {
    holds(
        noClasses()
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                "io.pointsman.testkit..",
                "io.pointsman.bench..",
                "io.pointsman.it..",
                "org.junit..",
                "org.assertj.."));
  }

  @Test
  void benchmarksUseOnlyAllowedModules() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "io.pointsman.proxy..",
            "io.pointsman.kubernetes..",
            "io.pointsman.testkit..",
            "io.pointsman.it..",
            "org.junit..",
            "org.assertj..")
        .check(BENCH);
  }

  @Test
  void requestIsReadWithoutANetwork() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("io.pointsman.request..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.netty..", "java.net..", "com.fasterxml.jackson.databind.."));
  }

  @Test
  void simulatorUsesZeroMqInOnePackage() {
    holds(
        noClasses()
            .that()
            .resideInAPackage("io.pointsman.sim..")
            .and()
            .resideOutsideOfPackage("io.pointsman.sim.zmq..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.zeromq..", "org.msgpack.."));
  }

  @Test
  void handOverProtocolsAreReadWithoutANetwork() {
    holds(
        noClasses()
            .that()
            .resideInAnyPackage("io.pointsman.sim.kv", "io.pointsman.sim.kv.protocol..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.netty..", "java.net.http..", "io.pointsman.sim.zmq.."));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "io.pointsman.proxy.ProxyServer",
        "io.pointsman.proxy.ProxyContext",
        "io.pointsman.engine.RoutingEngine",
        "io.pointsman.engine.fleet.Fleet",
        "io.pointsman.app.metrics.RouterMetrics"
      })
  void onlyWiringConstructsAdapters(String adapter) {
    Set<String> makers = callersOf(adapter, "<init>", "start");
    makers.removeIf(maker -> maker.startsWith(adapter + "."));
    // A replay creates its own engine, under simulated time.
    makers.removeIf(maker -> maker.startsWith("io.pointsman.replay.run.Simulation."));
    // A shadow policy decides over a copy of the fleet without traffic.
    makers.removeIf(maker -> maker.startsWith("io.pointsman.engine.shadow."));

    assertThat(makers)
        .isNotEmpty()
        .allSatisfy(maker -> assertThat(maker).startsWith("io.pointsman.app.wiring."));
  }

  @Test
  void clockAndDiceAreParameters() {
    holds(
        noClasses()
            .that(
                resideOutsideOfPackages(
                    "io.pointsman.app.wiring..",
                    "io.pointsman.app.demo..",
                    "io.pointsman.app.cli.."))
            .and()
            .doNotHaveFullyQualifiedName("io.pointsman.sim.SimEngine")
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
  void namesSayWhatAThingIs() {
    holds(
        noClasses()
            .should()
            .haveNameMatching(".*(Impl|Manager|Utils?|Helper|Base|Abstract[A-Za-z]*)(\\$.*)?"));
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
    String board = "io.pointsman.engine.fleet.LoadBoard";
    assertThat(callersOf(board, "enterIf"))
        .containsExactly("io.pointsman.engine.fleet.Worker.enter");
    assertThat(callersOf(board, "leave"))
        .containsExactlyInAnyOrder(
            "io.pointsman.engine.fleet.Worker.tryLease",
            "io.pointsman.engine.fleet.Worker.settled");
    assertThat(callersOf("io.pointsman.engine.fleet.Worker", "settled"))
        .containsExactly("io.pointsman.engine.fleet.Lease.settle");
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
            .resolve("engine/src/main/java/io/pointsman/engine/fleet/LoadBoard.java");

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
