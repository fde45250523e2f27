package io.pointsman.engine.policy.cost.latency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.policy.cost.Prompt;
import java.util.Random;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class PrefillTrackerTest {
  private static final int PROMPTS = 3000;

  private final PoolModel kind = new PoolModel(8192, 0.2, 400_000, null);
  private final PrefillTracker worker = new PrefillTracker(kind);
  private long now;

  /** Milliseconds of the engine under test, which waits 10 ms for the end of a decode step. */
  private static double engineMillis(int tokens) {
    return 10 + 20 * LatencyModel.steps(tokens, 8192) + 150 * tokens / 8192.0;
  }

  private double predicted(int tokens) {
    return kind.latency().millis(tokens, 0) + kind.delay(WorkerPhase.DECODING);
  }

  /** Places a prompt on the worker, which decodes and computes no other prompt. */
  private void serve(int tokens) {
    double own = kind.latency().millis(tokens, 0);
    double delay = kind.delay(WorkerPhase.DECODING);
    Expectation expected = new Expectation(own + delay, own, delay, WorkerPhase.DECODING, false);
    InFlight entry = new InFlight(Prompt.of(1, 1), tokens, 0, 0, now, expected);
    worker.begin(entry, true);
    now += (long) (engineMillis(tokens) * 1e6);
    worker.answered(entry, now, 0);
    now += 50_000_000;
  }

  @Test
  void timesOfPromptsOnADecodingWorkerAreLearnedWithoutBias() {
    Random random = new Random(1);
    for (int i = 0; i < PROMPTS; i++) {
      serve(500 + random.nextInt(30_000));
    }

    for (int tokens : new int[] {1_000, 8_000, 16_000, 30_000}) {
      assertThat(predicted(tokens))
          .as("%d tokens", tokens)
          .isCloseTo(engineMillis(tokens), Percentage.withPercentage(10));
    }
    assertThat(kind.delay(WorkerPhase.DECODING)).isCloseTo(0, within(10.0));
  }
}
