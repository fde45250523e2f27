package io.pointsman.it;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.health.Prober;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.observe.metrics.MetricsServer;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.observe.tracing.Tracing;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.server.planted.PlantedWiring;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/**
 * Rules for the router around the core. They are tests of {@link ArchitectureTest}, because an
 * import of all classes takes about 10 s of CPU time.
 */
abstract class RouterRules {
  private static final String WIRING = "io.pointsman.server.wiring..";
  private static final String SCHEDULING = "io.pointsman.server.scheduling..";

  /** The machine's clock and random source, which the wiring passes on. */
  private static final String ENVIRONMENT = "io.pointsman.control.env..";

  private static final String[] ROUTER = {
    "io.pointsman.config..",
    "io.pointsman.control..",
    "io.pointsman.kubernetes..",
    "io.pointsman.observe..",
    "io.pointsman.api..",
    "io.pointsman.batch..",
    "io.pointsman.compat..",
    "io.pointsman.plane..",
    "io.pointsman.server.."
  };

  private static final String[] CORE = {
    "io.pointsman.engine..", "io.pointsman.request..", "io.pointsman.proxy..", "io.pointsman.pd.."
  };

  /** Classes that only the wiring may create. */
  private static final Set<String> ADAPTERS =
      Set.of(
          ProxyServer.class.getName(),
          RoutingEngine.class.getName(),
          Fleet.class.getName(),
          Prober.class.getName(),
          EngineClient.class.getName(),
          RouterMetrics.class.getName(),
          MetricsServer.class.getName(),
          Tracing.class.getName());

  private static final ArchRule ONLY_WIRING_MAKES_ADAPTERS =
      noClasses()
          .that(resideInAnyPackage(ROUTER).and(resideOutsideOfPackages(WIRING)))
          .should()
          .accessTargetWhere(
              outsideOfItself(
                  "makes an adapter",
                  target ->
                      ADAPTERS.contains(target.getOwner().getName())
                          && Set.of("<init>", "start", "open").contains(target.getName())
                          && !(target.getOwner().isEquivalentTo(Prober.class)
                              && target.getName().equals("start"))));

  private static final ArchRule ONLY_WIRING_TOUCHES_CLOCK_AND_RANDOM =
      noClasses()
          .that(
              resideInAnyPackage(ROUTER)
                  .or(resideInAnyPackage(CORE))
                  .and(resideOutsideOfPackages(WIRING, SCHEDULING, ENVIRONMENT)))
          .should()
          .accessTargetWhere(outsideOfItself("touches clock or chance", ClockOrChance::is));

  private static final ArchRule ONLY_TRACING_SEES_OPEN_TELEMETRY =
      noClasses()
          .that(resideOutsideOfPackages("io.pointsman.observe.tracing.."))
          .should()
          .dependOnClassesThat(resideInAnyPackage("io.opentelemetry.."));

  /** Clock and random number generator, which must be passed as parameters. */
  private static final class ClockOrChance {
    static boolean is(AccessTarget target) {
      JavaClass owner = target.getOwner();
      String name = target.getName();
      return (owner.isEquivalentTo(System.class)
              && List.of("nanoTime", "currentTimeMillis").contains(name))
          || (owner.isEquivalentTo(Thread.class) && name.equals("sleep"))
          || owner.isEquivalentTo(ThreadLocalRandom.class);
    }
  }

  private static DescribedPredicate<JavaAccess<?>> outsideOfItself(
      String what, Predicate<AccessTarget> test) {
    return DescribedPredicate.describe(
        what,
        access ->
            test.test(access.getTarget())
                && !access.getOriginOwner().equals(access.getTargetOwner()));
  }

  @Test
  void onlyTheWiringMakesAdapters() {
    ONLY_WIRING_MAKES_ADAPTERS.check(ArchitectureTest.ALL);
  }

  @Test
  void onlyTheWiringTouchesClockAndRandomNumbers() {
    ONLY_WIRING_TOUCHES_CLOCK_AND_RANDOM.check(ArchitectureTest.ALL);
  }

  @Test
  void onlyTracingSeesOpenTelemetry() {
    ONLY_TRACING_SEES_OPEN_TELEMETRY.check(ArchitectureTest.ALL);
  }

  @Test
  void onlyTwoPackagesUseZeroMq() {
    noClasses()
        .that(
            resideInAnyPackage(ROUTER)
                .and(
                    resideOutsideOfPackages(
                        "io.pointsman.control.peers..", "io.pointsman.control.kvevents.wire..")))
        .should()
        .dependOnClassesThat(resideInAnyPackage("org.msgpack.."))
        .check(ArchitectureTest.ALL);
    noClasses()
        .that(resideInAnyPackage(ROUTER))
        .should()
        .dependOnClassesThat(resideInAnyPackage("org.zeromq.."))
        .check(ArchitectureTest.ALL);
  }

  @Test
  void launchersOfOtherRoutersOnlyTranslate() {
    classes()
        .that()
        .resideInAPackage("io.pointsman.compat..")
        .should()
        .onlyDependOnClassesThat(
            resideInAnyPackage(
                "java..",
                "org.jspecify..",
                "io.pointsman.compat..",
                "io.pointsman.config..",
                "io.pointsman.engine..",
                "io.pointsman.pd.."))
        .check(ArchitectureTest.ALL);
  }

  @Test
  void theRulesCanFail() {
    JavaClasses wrong = new ClassFileImporter().importClasses(PlantedWiring.class);
    assertThatThrownBy(() -> ONLY_WIRING_TOUCHES_CLOCK_AND_RANDOM.check(wrong))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("nanoTime");
    assertThatThrownBy(() -> ONLY_WIRING_MAKES_ADAPTERS.check(wrong))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("EngineClient");
    assertThatThrownBy(() -> ONLY_TRACING_SEES_OPEN_TELEMETRY.check(wrong))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("opentelemetry");
  }
}
