package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ConfigChangeTest {
  private final List<String> seen = new ArrayList<>();

  private ChangePart part(String name) {
    return ChangePart.of(name, () -> seen.add("apply " + name), () -> seen.add("undo " + name))
        .releasing(() -> seen.add("drop " + name), () -> seen.add("finish " + name));
  }

  private ChangePart failing(String name, Throwable failure) {
    ChangePart good = part(name);
    return new ChangePart(
        name,
        () -> {
          good.apply().run();
          sneak(failure);
        },
        good.undo(),
        good.drop(),
        good.finish());
  }

  private static void sneak(Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    throw (RuntimeException) failure;
  }

  private static ConfigChange of(ChangePart... parts) {
    return ConfigChange.prepared(
        part -> part,
        change -> {
          for (ChangePart each : parts) {
            change.add(each);
          }
        });
  }

  @Test
  void allPartsApplyInOrderAndThenReleaseTheEarlierOnes() {
    of(part("a"), part("b")).apply();
    assertThat(seen).containsExactly("apply a", "apply b", "finish a", "finish b");
  }

  @Test
  void aFailureUndoesThePartsThatHaveBegunAndDropsAll() {
    ConfigChange change = of(part("a"), failing("b", new IllegalStateException("no")), part("c"));
    assertThatThrownBy(change::apply)
        .isInstanceOfSatisfying(
            ReloadFailedException.class,
            e -> {
              assertThat(e).hasMessage("b: no");
              assertThat(e.isFault()).isFalse();
              assertThat(e.isUndone()).isTrue();
            });
    assertThat(seen)
        .containsExactly("apply a", "apply b", "undo b", "undo a", "drop c", "drop b", "drop a");
  }

  @Test
  void aMissingClassOrABugIsAFaultWithThePart() {
    for (Throwable fault : List.of(new NoClassDefFoundError("X"), new NullPointerException("x"))) {
      seen.clear();
      assertThatThrownBy(of(part("a"), failing("b", fault))::apply)
          .isInstanceOfSatisfying(
              ReloadFailedException.class,
              e -> {
                assertThat(e).hasMessage("b: " + fault);
                assertThat(e.isFault()).isTrue();
              });
      assertThat(seen).contains("undo b", "undo a", "drop b", "drop a");
    }
  }

  @Test
  void theRootOfAFailureDecidesWhetherItIsAFault() {
    Throwable missing = new NoClassDefFoundError("X");
    assertThat(isFault(new IllegalStateException("event loop: not changed", missing))).isTrue();
    assertThat(isFault(new IllegalStateException("loop", new IllegalStateException("a", missing))))
        .isTrue();
    assertThat(isFault(new IllegalStateException("loop", new IllegalArgumentException("bad"))))
        .isFalse();
    assertThat(isFault(new IllegalArgumentException("a file", new IOException("no")))).isFalse();
  }

  private static boolean isFault(RuntimeException failure) {
    return ReloadFailedException.of("part", failure).isFault();
  }

  @Test
  void aMessageThatNamesItsPartStays() {
    ConfigChange change = of(failing("workers", new IllegalStateException("workers: 3")));
    assertThatThrownBy(change::apply).hasMessage("workers: 3");
  }

  @Test
  void aFailureOnTheWayBackIsReportedAndTheRestIsUndone() {
    ChangePart stuck =
        ChangePart.of(
            "stuck",
            () -> {},
            () -> {
              throw new IllegalStateException("stays");
            });
    assertThatThrownBy(of(part("a"), stuck, failing("b", new IllegalStateException("no")))::apply)
        .isInstanceOfSatisfying(
            ReloadFailedException.class,
            e -> {
              assertThat(e.isUndone()).isFalse();
              assertThat(e.getSuppressed()[0]).hasMessage("stuck: stays");
            });
    assertThat(seen).contains("undo a", "drop a");
  }

  @Test
  void aFailureToReleaseDoesNotEndTheChange() {
    ChangePart leaky =
        part("leaky")
            .releasing(
                () -> {},
                () -> {
                  throw new IllegalStateException("not closed");
                });
    of(leaky, part("b")).apply();
    assertThat(seen).containsExactly("apply leaky", "apply b", "finish b");
  }

  @Test
  void anUnreleasedNewPartLeavesTheOldConfigurationInForce() {
    ChangePart leaky =
        part("leaky")
            .releasing(
                () -> {
                  throw new IllegalStateException("not closed");
                },
                () -> {});
    assertThatThrownBy(of(leaky, failing("b", new IllegalStateException("no")))::apply)
        .isInstanceOfSatisfying(
            ReloadFailedException.class, e -> assertThat(e.isUndone()).isTrue());
    assertThat(seen).contains("undo leaky", "drop b");
  }

  @Test
  void aFailedPreparationDropsThePreparedParts() {
    assertThatThrownBy(
            () ->
                ConfigChange.prepared(
                    part -> part,
                    change -> {
                      change.add(part("a"));
                      throw new IllegalArgumentException("bad value");
                    }))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("bad value");
    assertThat(seen).containsExactly("drop a");
    assertThatThrownBy(
            () ->
                ConfigChange.prepared(
                    part -> part,
                    change -> {
                      change.add(part("b"));
                      throw new NoClassDefFoundError("X");
                    }))
        .isInstanceOf(ReloadFailedException.class)
        .hasMessage("configuration: java.lang.NoClassDefFoundError: X");
    assertThat(seen).containsExactly("drop a", "drop b");
  }
}
