package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.ShippedClasses;
import io.pointsman.testkit.RouterFault;
import java.io.IOException;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.DirectMethodHandleDesc;
import java.time.Clock;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The machine's clock may jump. Nothing in the router reads the time of day, except for values that
 * show it: the age of KV events, the time in request lines, the age of engines. Durations use the
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
          // Times of creation of files and batches.
          "io.pointsman.server.wiring.Batches",
          // Keys end at a time of day.
          "io.pointsman.api.keys.FileKeys",
          "io.pointsman.api.keys.StoredKey",
          "io.pointsman.server.cli.KeyCommand$Create",
          "io.pointsman.server.wiring.RouterKeys",
          "io.pointsman.server.wiring.RouterAssembly",
          "io.pointsman.server.wiring.RouterRoutes");

  /** A call, or a method that is passed on. */
  private record Target(String owner, String name) {
    boolean asksForTimeOfDay() {
      return (owner.equals("java.lang.System") && name.equals("currentTimeMillis"))
          || (owner.startsWith("java.time.") && (name.equals("now") || name.startsWith("system")))
          || ((owner.equals("java.time.Clock") || owner.equals("java.time.InstantSource"))
              && (name.equals("instant") || name.equals("millis")))
          || (owner.equals("java.util.Date") && name.equals("<init>"))
          || (owner.equals("java.util.Calendar") && name.equals("getInstance"));
    }

    @Override
    public String toString() {
      return owner.substring(owner.lastIndexOf('.') + 1) + "." + name;
    }
  }

  /** The questions for the time of day in a class that may not ask. */
  private static List<String> questions(ClassModel type) {
    String name = ShippedClasses.name(type);
    List<String> found = new ArrayList<>();
    if (SHOW_IT.contains(name)) {
      return found;
    }
    for (MethodModel method : type.methods()) {
      String in = name + "." + method.methodName().stringValue() + ": ";
      method.code().stream()
          .flatMap(code -> code.elementStream())
          .flatMap(ClockTest::targets)
          .filter(Target::asksForTimeOfDay)
          .forEach(target -> found.add(in + target));
    }
    return found;
  }

  private static Stream<Target> targets(CodeElement element) {
    return switch (element) {
      case InvokeInstruction call ->
          Stream.of(
              new Target(
                  call.owner().asInternalName().replace('/', '.'), call.name().stringValue()));
      case InvokeDynamicInstruction lambda ->
          lambda.bootstrapArgs().stream()
              .filter(DirectMethodHandleDesc.class::isInstance)
              .map(DirectMethodHandleDesc.class::cast)
              .map(passed -> new Target(name(passed), passed.methodName()));
      default -> Stream.empty();
    };
  }

  private static String name(DirectMethodHandleDesc passed) {
    String descriptor = passed.owner().descriptorString();
    return descriptor.substring(1, descriptor.length() - 1).replace('/', '.');
  }

  @Test
  @Shows(RouterFault.CLOCK_JUMPS)
  void nothingReadsTheTimeOfDay() throws IOException {
    List<ClassModel> shipped =
        ShippedClasses.below(
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
    assertThat(shipped.stream().map(ShippedClasses::name))
        .hasSizeGreaterThan(1000)
        .containsAll(SHOW_IT)
        .contains("io.pointsman.kubernetes.PodDiscovery")
        .doesNotContain(ClockTest.class.getName());
    assertThat(shipped).flatMap(ClockTest::questions).isEmpty();
  }

  @Test
  void theRuleFindsAPlantedUse() throws IOException {
    String planted = Planted.class.getName();
    assertThat(questions(ShippedClasses.of(Planted.class)))
        .containsExactlyInAnyOrder(
            planted + ".<init>: Instant.now",
            planted + ".isPast: InstantSource.instant",
            planted + ".isPast: Clock.millis",
            planted + ".date: Date.<init>",
            planted + ".later: System.currentTimeMillis");
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

    @SuppressWarnings("JavaUtilDate")
    static Date date() {
      return new Date();
    }

    static LongSupplier later() {
      return System::currentTimeMillis;
    }
  }
}
