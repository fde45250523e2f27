package io.pointsman.tool.sim.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.tool.sim.cache.BlockHashes;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class ServiceProfilesTest {
  private static final long MS = 1_000_000;

  private final List<Integer> produced = new ArrayList<>();

  private static Scheduler scheduler(String profile) {
    return new Scheduler(
        ServiceProfiles.of("profile", profile).limits(1000, 16, 100_000),
        new LinearLatency(1000, 1));
  }

  private Sequence sequence(int prompt, int output) {
    int[] tokens = IntStream.range(0, prompt).toArray();
    return new Sequence(
        BlockHashes.of(tokens, 16, 0), prompt, output, s -> produced.add(s.produced()));
  }

  private static long finish(Scheduler scheduler, long from) {
    long now = from;
    for (long next = scheduler.advance(now);
        next != Scheduler.NEVER;
        next = scheduler.advance(now)) {
      now = next;
    }
    return now;
  }

  @Test
  void namesAreDistinctAndTheDefaultIsFirst() {
    assertThat(ServiceProfiles.names()).doesNotHaveDuplicates().startsWith("8b").hasSize(8);
    assertThat(ServiceProfiles.DEFAULT.limits(25_000, 16, 131_072)).isEqualTo(EngineLimits.DEFAULT);
  }

  @Test
  void unknownProfileIsRefusedWithAllNames() {
    assertThatThrownBy(() -> ServiceProfiles.of("profile", "9b"))
        .hasMessageStartingWith("profile: 9b (expected: one of 8b, 70b-tp8, ");
  }

  @Test
  void withoutACacheEqualPromptsAreComputedAgain() {
    Scheduler scheduler = scheduler("8b-no-cache");
    scheduler.submit(sequence(160, 1), 0);
    long now = finish(scheduler, 0);
    Sequence again = sequence(160, 1);
    scheduler.submit(again, now);
    finish(scheduler, now);

    assertThat(again.cachedTokens()).isZero();
    assertThat(scheduler.cache().idleBlocks()).isZero();
    assertThat(scheduler.cache().pinnedBlocks()).isZero();
  }

  @Test
  void withoutChunksNoSequenceDecodesDuringPrefill() {
    Scheduler scheduler = scheduler("8b-unchunked");
    Sequence decoding = sequence(16, 10);
    scheduler.submit(decoding, 0);
    long first = scheduler.advance(scheduler.advance(0));
    Sequence prompt = new Sequence(new long[0], 100, 1, _ -> {});
    scheduler.submit(prompt, first - 1);
    long second = scheduler.advance(first);

    assertThat(decoding.produced()).isEqualTo(2);
    assertThat(second - first).isEqualTo(100 * MS);
    scheduler.advance(second);
    assertThat(decoding.produced()).isEqualTo(2);
    assertThat(prompt.phase()).isEqualTo(Sequence.Phase.FINISHED);
  }

  @Test
  void withoutChunksALongPromptIsOneStep() {
    Scheduler scheduler =
        new Scheduler(
            ServiceProfiles.of("profile", "8b-unchunked").limits(10_000, 16, 100_000),
            new LinearLatency(1000, 1));
    scheduler.submit(new Sequence(new long[0], 20_000, 1, _ -> {}), 0);
    Sequence next = new Sequence(new long[0], 10, 1, _ -> {});
    scheduler.submit(next, 0);

    assertThat(scheduler.advance(0)).isEqualTo(20_000 * MS);
    assertThat(next.phase()).isEqualTo(Sequence.Phase.QUEUED);
  }

  @Test
  void speculationProducesSeveralTokensAStepUpToTheLimit() {
    Scheduler scheduler = scheduler("8b-speculative");
    scheduler.submit(sequence(16, 10), 0);
    finish(scheduler, 0);

    assertThat(produced).containsExactly(1, 3, 6, 8, 10);
    assertThat(scheduler.totals().generatedTokens()).isEqualTo(10);
  }

  @Test
  void frontEndDelaysTheEntryIntoTheQueue() {
    Scheduler scheduler = scheduler("8b-uneven");
    Sequence first = sequence(16, 1);
    scheduler.submit(first, 0);
    assertThat(scheduler.advance(0)).isEqualTo(15 * MS);
    long end = scheduler.advance(15 * MS);
    assertThat(end).isEqualTo(15 * MS + 16 * MS);

    Sequence second = sequence(32, 1);
    scheduler.submit(second, end - 5 * MS);
    assertThat(scheduler.advance(end)).as("still in the front end").isEqualTo(end + 10 * MS);
    assertThat(first.phase()).isEqualTo(Sequence.Phase.FINISHED);
    finish(scheduler, end + 10 * MS);
    assertThat(second.phase()).isEqualTo(Sequence.Phase.FINISHED);
  }

  @Test
  void unevenStepsVaryAboutTheirMeanAndSomeStall() {
    UnevenLatency uneven = new UnevenLatency(new LinearLatency(1000, 1), 0.3, 0.02, 6);
    int stalls = 0;
    double sum = 0;
    for (int i = 0; i < 10_000; i++) {
      double factor = millis(uneven, 100, 1, i) / 100;
      stalls += factor > 3.5 ? 1 : 0;
      sum += Math.min(factor, 3.5);
    }
    assertThat(stalls).isBetween(100, 300);
    assertThat(sum / 10_000).isBetween(0.95, 1.15);
    assertThat(millis(uneven, 100, 1, 7)).isEqualTo(millis(uneven, 100, 1, 7));
  }

  @Test
  void unevennessOutOfRangeIsRefused() {
    SimLatencyModel step = new StepLatency();
    assertThatThrownBy(() -> new UnevenLatency(step, 3, 0, 1)).hasMessageContaining("spread: 3.0");
    assertThatThrownBy(() -> new UnevenLatency(step, 0, 2, 1)).hasMessageContaining("stalls: 2.0");
    assertThatThrownBy(() -> new UnevenLatency(step, 0, 0, 0))
        .hasMessageContaining("stall-factor: 0.0");
    assertThatThrownBy(() -> new StepRules(true, true, 1, -1))
        .hasMessageContaining("front-end-millis: -1.0");
  }

  @Test
  void stepTimesMatchTheManual() {
    SimLatencyModel large = ServiceProfiles.of("profile", "70b-tp8").latency();
    SimLatencyModel small = ServiceProfiles.of("profile", "1b-small").latency();
    SimLatencyModel drafted = ServiceProfiles.of("profile", "8b-speculative").latency();

    assertThat(millis(large, 8192, 10, 100_000)).isCloseTo(332.57, Offset.offset(0.1));
    assertThat(millis(small, 1000, 10, 100_000)).isCloseTo(75.56, Offset.offset(0.1));
    assertThat(millis(drafted, 0, 10, 0)).isCloseTo(5.74 + 1.2 + 0.5, Offset.offset(0.001));
  }

  private static double millis(SimLatencyModel model, int prefill, int decoding, long context) {
    return model.stepNanos(new SimLatencyModel.Step(prefill, decoding, context, 400_000)) / 1e6;
  }
}
