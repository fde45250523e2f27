package io.pointsman.control.health;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RoundsTest {
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFailedRunDoesNotEndTheLoop(boolean linkage) throws InterruptedException {
    CountDownLatch rounds = new CountDownLatch(3);
    Runnable task =
        () -> {
          rounds.countDown();
          if (linkage) {
            throw new NoSuchMethodError("of another version");
          }
          throw new IllegalStateException("a defect");
        };

    try (Rounds started = Rounds.start("test", Duration.ofMillis(1), task)) {
      assertThat(rounds.await(60, TimeUnit.SECONDS)).as("rounds of %s", started).isTrue();
    }
  }
}
