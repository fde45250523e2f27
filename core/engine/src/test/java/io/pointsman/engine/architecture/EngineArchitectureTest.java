package io.pointsman.engine.architecture;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import io.pointsman.engine.architecture.planted.ClockManager;
import io.pointsman.engine.fleet.Worker;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** The engine's dependencies, as in docs/dev/architecture.md. */
class EngineArchitectureTest {
  private static final String ROOT = "io.pointsman.engine";

  private static final JavaClasses ENGINE =
      new ClassFileImporter()
          .importUrl(Worker.class.getProtectionDomain().getCodeSource().getLocation());

  private static final ArchRule ONLY_JDK =
      noClasses()
          .should()
          .dependOnClassesThat(
              resideOutsideOfPackages("java..", "org.jspecify..", ROOT, ROOT + ".."));

  private static final ArchRule NO_IO =
      noClasses()
          .should()
          .dependOnClassesThat(
              resideInAnyPackage(
                  "java.net..", "java.nio.channels..", "java.nio.file..", "java.util.logging.."))
          .orShould()
          .dependOnClassesThat()
          .belongToAnyOf(System.Logger.class);

  private static final ArchRule NO_CLOCK_AND_NO_CHANCE =
      noClasses()
          .should()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .callMethod(Thread.class, "sleep", long.class)
          .orShould()
          .callMethod(Thread.class, "sleep", Duration.class)
          .orShould()
          .callMethod(Math.class, "random")
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(ThreadLocalRandom.class)
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(Random.class)
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(Clock.class);

  private static final ArchRule NO_EMPTY_NAMES =
      classes().should().haveNameNotMatching(".*(Impl|Manager|Utils|Helper)(\\$.*)?");

  @Test
  void classesWereFound() {
    assertThat(ENGINE.size()).isGreaterThan(30);
  }

  @Test
  void engineDependsOnTheJdkAndJspecifyOnly() {
    ONLY_JDK.check(ENGINE);
  }

  @Test
  void engineDoesNoIoAndWritesNoLog() {
    NO_IO.check(ENGINE);
  }

  @Test
  void engineReadsNoClockAndNoRandomSource() {
    NO_CLOCK_AND_NO_CHANCE.check(ENGINE);
  }

  @Test
  void namesDescribeThings() {
    NO_EMPTY_NAMES.check(ENGINE);
  }

  @Test
  void policySeesFleetPrefixesCachesAndEnvironmentOnly() {
    sees("policy", "fleet", "prefix", "kv", "env").check(ENGINE);
  }

  @Test
  void prefixSeesNeitherPolicyNorEngine() {
    sees("prefix", "fleet", "env").check(ENGINE);
  }

  @Test
  void cachesSeeFleetPrefixAndEnvironmentOnly() {
    sees("kv", "fleet", "prefix", "env").check(ENGINE);
  }

  @Test
  void fleetSeesItsEnvironmentOnly() {
    sees("fleet", "env").check(ENGINE);
  }

  @Test
  void environmentSeesNothing() {
    sees("env").check(ENGINE);
  }

  @Test
  void timeAndCacheModelsSeeNoOtherPartOfCost() {
    ignores("policy.cost.latency", "", ".cache..", ".report..").check(ENGINE);
    ignores("policy.cost.cache", "", ".latency..", ".report..").check(ENGINE);
  }

  @Test
  void costDoesNotSeeItsReports() {
    ignores("policy.cost", ".report..").check(ENGINE);
  }

  /** The classes of one package may not depend on the given packages below {@code cost}. */
  private static ArchRule ignores(String part, String... parts) {
    String cost = ROOT + ".policy.cost";
    return noClasses()
        .that()
        .resideInAPackage(ROOT + "." + part)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(Stream.of(parts).map(cost::concat).toArray(String[]::new));
  }

  /** Within the engine, the classes of a package may depend only on it and the given others. */
  private static ArchRule sees(String part, String... others) {
    List<String> allowed =
        Stream.concat(Stream.of(part), Stream.of(others)).map(p -> ROOT + "." + p + "..").toList();
    DescribedPredicate<JavaClass> otherParts =
        resideInAnyPackage(ROOT + "..")
            .and(resideOutsideOfPackages(allowed.toArray(String[]::new)));
    return noClasses()
        .that()
        .resideInAPackage(ROOT + "." + part + "..")
        .should()
        .dependOnClassesThat(otherParts);
  }

  @Test
  void everyPackageIsNullMarked() {
    List<JavaPackage> packages = ENGINE.stream().map(JavaClass::getPackage).distinct().toList();

    assertThat(packages).hasSizeGreaterThan(4);
    assertThat(packages)
        .allSatisfy(p -> assertThat(p.isAnnotatedWith(NullMarked.class)).as(p.getName()).isTrue());
  }

  /** A rule without matching classes passes; here each rule has a violation to find. */
  @Test
  void plantedViolationsAreFound() {
    JavaClasses planted = new ClassFileImporter().importClasses(ClockManager.class);

    for (ArchRule rule : List.of(ONLY_JDK, NO_IO, NO_CLOCK_AND_NO_CHANCE, NO_EMPTY_NAMES)) {
      assertThatThrownBy(() -> rule.check(planted))
          .as(rule.getDescription())
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("ClockManager");
    }
    assertThatThrownBy(() -> ignores("policy.cost", ".cache..").check(ENGINE))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("CostLearner");
    assertThatThrownBy(() -> sees("architecture").check(planted))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("Worker");
  }
}
