package io.pointsman.server.architecture;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.opentelemetry.api.trace.Span;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.health.Prober;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.observe.metrics.MetricsServer;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.observe.tracing.Tracing;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.proxy.upstream.EngineKeys;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** The dependencies between modules, as in docs/dev/architecture.md. */
class ServerArchitectureTest {
  private static final JavaClasses ALL =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.pointsman");

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

  private static final ArchRule ONLY_WIRING_TOUCHES_CLOCK_AND_DICE =
      noClasses()
          .that(
              resideInAnyPackage(ROUTER)
                  .or(resideInAnyPackage(CORE))
                  .and(resideOutsideOfPackages(WIRING, SCHEDULING, ENVIRONMENT)))
          .should()
          .accessTargetWhere(outsideOfItself("touches clock or dice", ClockOrDice::is));

  private static final ArchRule ONLY_TRACING_SEES_OPEN_TELEMETRY =
      noClasses()
          .that(resideOutsideOfPackages("io.pointsman.observe.tracing.."))
          .should()
          .dependOnClassesThat(resideInAnyPackage("io.opentelemetry.."));

  /** Clock and random number generator, which must be passed as parameters. */
  private static final class ClockOrDice {
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
    ONLY_WIRING_MAKES_ADAPTERS.check(ALL);
  }

  @Test
  void onlyTheWiringTouchesClockAndDice() {
    ONLY_WIRING_TOUCHES_CLOCK_AND_DICE.check(ALL);
  }

  @Test
  void onlyTracingSeesOpenTelemetry() {
    ONLY_TRACING_SEES_OPEN_TELEMETRY.check(ALL);
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
        .check(ALL);
    noClasses()
        .that(resideInAnyPackage(ROUTER))
        .should()
        .dependOnClassesThat(resideInAnyPackage("org.zeromq.."))
        .check(ALL);
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
        .check(ALL);
  }

  @Test
  void everyPackageIsNullMarked() {
    List<String> unmarked =
        ALL.stream()
            .map(JavaClass::getPackage)
            .distinct()
            .filter(each -> !each.isAnnotatedWith(NullMarked.class))
            .map(JavaPackage::getName)
            .toList();
    assertThat(unmarked).isEmpty();
  }

  @Test
  void namesSayWhatAThingIs() {
    assertThat(ALL.stream().map(JavaClass::getSimpleName))
        .noneMatch(name -> name.matches(".*(Impl|Manager|Utils?|Helper)"));
  }

  @Test
  void theRulesCanFail() {
    JavaClasses wrong = new ClassFileImporter().importClasses(Wrong.class);
    assertThatThrownBy(() -> ONLY_WIRING_TOUCHES_CLOCK_AND_DICE.check(wrong))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("nanoTime");
    assertThatThrownBy(() -> ONLY_WIRING_MAKES_ADAPTERS.check(wrong))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("EngineClient");
    assertThatThrownBy(() -> ONLY_TRACING_SEES_OPEN_TELEMETRY.check(wrong))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("opentelemetry");
  }

  /** Violates the rules on purpose; never executed. */
  static final class Wrong {
    Stream<Object> everything() {
      return Stream.of(
          System.nanoTime(), new EngineClient(EngineKeys.NONE, () -> 0), Span.getInvalid());
    }
  }
}
