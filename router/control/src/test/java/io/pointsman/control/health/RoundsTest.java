package io.pointsman.control.health;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RoundsTest {
  /** What a run throws. */
  enum Fault {
    DEFECT {
      @Override
      void run() {
        throw new IllegalStateException("a defect");
      }
    },
    LINKAGE {
      @Override
      void run() {
        throw new NoSuchMethodError("of another version");
      }
    },
    DEPTH {
      @Override
      void run() {
        throw new StackOverflowError("a deeply nested text");
      }
    };

    abstract void run();
  }

  @ParameterizedTest
  @EnumSource
  void aFailedRunDoesNotEndTheLoop(Fault fault) throws InterruptedException {
    CountDownLatch rounds = new CountDownLatch(3);
    Runnable task =
        () -> {
          rounds.countDown();
          fault.run();
        };

    try (Rounds started = Rounds.start("test", Duration.ofMillis(1), task)) {
      assertThat(rounds.await(60, TimeUnit.SECONDS)).as("rounds of %s", started).isTrue();
    }
  }
}
