package io.pointsman.proxy.architecture;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;

/** Permitted dependencies of the data plane. */
class ProxyArchitectureTest {
  private static final JavaClasses PROXY =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages("io.pointsman.proxy");

  private static ArchRule dependsOn(String... packages) {
    return classes()
        .that()
        .resideInAPackage("io.pointsman.proxy..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(packages);
  }

  @Test
  void dependsOnlyOnEngineRequestNettyAndSlf4j() {
    dependsOn(
            "io.pointsman.proxy..",
            "io.pointsman.engine..",
            "io.pointsman.request..",
            "io.netty..",
            "org.slf4j..",
            "org.jspecify..",
            "java..",
            "javax.crypto..",
            "javax.net.ssl..",
            "javax.security.auth.x500..")
        .check(PROXY);
  }

  @Test
  void ruleOnDependenciesCanFail() {
    ArchRule tooStrict = dependsOn("io.pointsman.proxy..", "java..");
    assertThatThrownBy(() -> tooStrict.check(PROXY)).isInstanceOf(AssertionError.class);
  }

  @Test
  void wireAndTelemetryKnowNoSockets() {
    noClasses()
        .that()
        .resideInAnyPackage("..proxy.wire..", "..proxy.telemetry..", "..proxy.local..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.netty.channel..", "..proxy.exchange..", "..proxy.upstream..")
        .because("bytes are understood without a connection")
        .check(PROXY);
  }

  @Test
  void strategiesKnowNoExchange() {
    noClasses()
        .that()
        .resideInAnyPackage("..proxy.handler..", "..proxy.strategy..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("..proxy.exchange..", "..proxy.call..", "..proxy.relay..")
        .because("a strategy chooses workers, and the exchange runs the steps")
        .check(PROXY);
  }

  @Test
  void interfacesOfStrategiesAreSmall() {
    assertThat(PROXY)
        .filteredOn(JavaClass::isInterface)
        .filteredOn(type -> type.getPackageName().equals("io.pointsman.proxy.handler"))
        .isNotEmpty()
        .allSatisfy(type -> assertThat(type.getMethods()).hasSizeLessThanOrEqualTo(5));
  }

  @Test
  void packagesHaveNoCycles() {
    slices().matching("io.pointsman.proxy.(*)..").should().beFreeOfCycles().check(PROXY);
  }

  @Test
  void clockAndRandomNumbersAreParameters() {
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
        .check(PROXY);
  }
}
