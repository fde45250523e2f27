package io.pointsman.it.fault;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.pointsman.testkit.RouterFault;
import java.time.Clock;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The machine's clock may jump. Nothing in the router reads the time of day, except for what shows
 * it: the age of KV events, the time in request lines, the age of engines. Durations use the
 * monotonic clock, which time settings do not move. The log adds the time of day to its lines.
 */
final class ClockTest {
  /** Classes that show the time of day, end keys by it, or hand it on. */
  private static final Set<String> SHOW_IT =
      Set.of(
          // Engines add the time of day to KV events; only a metric uses it.
          "io.pointsman.server.wiring.KvSubscriptions",
          "io.pointsman.control.kvevents.KvSource",
          // Time in the line of a request.
          "io.pointsman.observe.logging.RequestLines",
          // Time of creation in a mapped rerank answer.
          "io.pointsman.proxy.exchange.AnswerWriter",
          // Time since which an engine is known, in /engines.
          "io.pointsman.api.admin.EngineIds",
          // Keys end at a time of day.
          "io.pointsman.api.keys.FileKeys",
          "io.pointsman.api.keys.StoredKey",
          "io.pointsman.server.cli.KeyCommand$Create",
          "io.pointsman.server.wiring.RouterKeys",
          "io.pointsman.server.wiring.RouterAssembly",
          "io.pointsman.server.wiring.RouterRoutes");

  private static final ArchRule NOBODY_ASKS =
      noClasses()
          .that(DescribedPredicate.not(belongTo(SHOW_IT)))
          .should()
          .accessTargetWhere(
              DescribedPredicate.describe(
                  "asks for the time of day", access -> asksForTimeOfDay(access.getTarget())));

  private static DescribedPredicate<JavaClass> belongTo(Set<String> names) {
    return DescribedPredicate.describe(
        "show the time of day", javaClass -> names.contains(javaClass.getFullName()));
  }

  private static boolean asksForTimeOfDay(AccessTarget target) {
    String owner = target.getOwner().getName();
    String name = target.getName();
    return (owner.equals("java.lang.System") && name.equals("currentTimeMillis"))
        || (owner.startsWith("java.time.") && (name.equals("now") || name.startsWith("system")))
        || ((owner.equals("java.time.Clock") || owner.equals("java.time.InstantSource"))
            && (name.equals("instant") || name.equals("millis")))
        || (owner.equals("java.util.Date") && name.equals("<init>"))
        || (owner.equals("java.util.Calendar") && name.equals("getInstance"));
  }

  @Test
  @Shows(RouterFault.CLOCK_JUMPS)
  void nothingReadsTheTimeOfDay() {
    JavaClasses shipped =
        new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages(
                "io.pointsman.engine",
                "io.pointsman.request",
                "io.pointsman.proxy",
                "io.pointsman.kubernetes",
                "io.pointsman.pd",
                "io.pointsman.config",
                "io.pointsman.control",
                "io.pointsman.observe",
                "io.pointsman.api",
                "io.pointsman.compat",
                "io.pointsman.plane",
                "io.pointsman.server");
    assertThat(shipped).hasSizeGreaterThan(100);
    assertThat(shipped.containPackage("io.pointsman.kubernetes")).isTrue();
    NOBODY_ASKS.check(shipped);
  }

  @Test
  void theRuleFindsAPlantedUse() {
    JavaClasses planted = new ClassFileImporter().importClasses(Planted.class);
    assertThatThrownBy(() -> NOBODY_ASKS.check(planted))
        .hasMessageContainingAll("Instant.now", "InstantSource.instant", "Clock.millis");
  }

  /** Code that the rule must find. */
  @SuppressWarnings("UnusedMethod")
  private record Planted(Instant since) {
    Planted() {
      this(Instant.now());
    }

    boolean isPast(InstantSource source) {
      return since.isBefore(source.instant());
    }

    boolean isPast(Clock clock) {
      return since.toEpochMilli() < clock.millis();
    }
  }
}
