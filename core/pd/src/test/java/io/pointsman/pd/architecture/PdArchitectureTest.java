package io.pointsman.pd.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** The arrows within prefill and decode: rules, protocols as data, their execution. */
class PdArchitectureTest {
  private static final String ROOT = "io.pointsman.pd.";

  private static final JavaClasses PD =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages("io.pointsman.pd");

  /** Classes of one package use, of this project, only these others. */
  private static ArchRule uses(String part, String... others) {
    return classes()
        .that()
        .resideInAPackage(ROOT + part)
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            Stream.concat(
                    Stream.of(ROOT + part, "java..", "org.jspecify..", "org.slf4j.."),
                    Stream.of(others).map(other -> "io.pointsman." + other))
                .toArray(String[]::new));
  }

  @Test
  void peersKnowTheFleetOnly() {
    uses("peer", "engine.fleet").check(PD);
  }

  @Test
  void plansAreData() {
    uses("plan", "engine.fleet", "engine.prefix", "request.splice", "proxy.wire").check(PD);
  }

  @Test
  void protocolsKnowPlansPeersAndPrefixesOnly() {
    uses(
            "protocol",
            "pd.plan",
            "pd.peer",
            "engine.fleet",
            "engine.prefix",
            "engine.env",
            "request.handover",
            "request.splice",
            "proxy.wire")
        .check(PD);
  }

  @Test
  void rulesKnowNoConnection() {
    noClasses()
        .that()
        .resideInAnyPackage(
            ROOT + "rule..", ROOT + "plan..", ROOT + "protocol..", ROOT + "peer..", ROOT + "body..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.netty..", "java.net..", ROOT + "execution..")
        .check(PD);
  }

  @Test
  void packagesHaveNoCycles() {
    slices().matching(ROOT + "(*)..").should().beFreeOfCycles().check(PD);
  }

  @Test
  void clockAndChanceComeFromOutside() {
    noClasses()
        .should()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(Thread.class, "sleep", long.class)
        .orShould()
        .dependOnClassesThat()
        .haveSimpleName("ThreadLocalRandom")
        .check(PD);
  }

  @Test
  void everyPackageIsNullMarked() {
    List<JavaPackage> packages = PD.stream().map(JavaClass::getPackage).distinct().toList();

    assertThat(packages).hasSizeGreaterThan(4);
    assertThat(packages)
        .allSatisfy(p -> assertThat(p.isAnnotatedWith(NullMarked.class)).as(p.getName()).isTrue());
  }

  @Test
  void rulesCanFail() {
    ArchRule tooStrict = uses("protocol");
    assertThatThrownBy(() -> tooStrict.check(PD)).isInstanceOf(AssertionError.class);
  }
}
