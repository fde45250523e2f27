package io.pointsman.tool.sim.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.tool.sim.cache.BlockHashes;
import io.pointsman.tool.sim.schedule.Sequence.Phase;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class SchedulerTest {
  private static final long MS = 1_000_000;

  /** 1,000 prompt tokens per second, 10 ms per token. */
  private static final SimLatencyModel LINEAR = new LinearLatency(1000, 10);

  private final List<String> log = new ArrayList<>();

  @Test
  void firstTokenComesWhenThePromptIsComputed() {
    Scheduler scheduler = scheduler(100, 4);
    Sequence sequence = sequence(1, 100, 3);
    scheduler.submit(sequence, 5 * MS);
    finish(scheduler, 5 * MS);

    assertThat(sequence.firstTokenAt()).isEqualTo(105 * MS);
    assertThat(sequence.finishedAt()).isEqualTo(125 * MS);
    assertThat(sequence.produced()).isEqualTo(3);
  }

  @Test
  void onlyUncachedTokensTakeTime() {
    Scheduler scheduler = scheduler(100, 4);
    scheduler.submit(sequence(1, 100, 1), 0);
    long now = finish(scheduler, 0);
    Sequence again = sequence(1, 110, 1);
    scheduler.submit(again, now);
    finish(scheduler, now);

    assertThat(again.cachedTokens()).isEqualTo(100);
    assertThat(again.firstTokenAt() - now).isEqualTo(10 * MS);
    assertThat(scheduler.totals().promptTokens()).isEqualTo(210);
    assertThat(scheduler.totals().cachedTokens()).isEqualTo(100);
  }

  @Test
  void equalPromptsOfOneStepUseTheSameBlocks() {
    Scheduler scheduler = scheduler(100, 4);
    for (int i = 0; i < 8; i++) {
      scheduler.submit(sequence(1, 90, 1), 0);
    }
    finish(scheduler, 0);

    assertThat(scheduler.totals().promptTokens()).isEqualTo(8 * 90);
    assertThat(scheduler.totals().cachedTokens()).isEqualTo(7 * 80);
  }

  @Test
  void queueIsServedInTheOrderOfArrival() {
    Scheduler scheduler = scheduler(100, 1);
    List<Sequence> all = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      all.add(sequence(i, 10, 2));
      scheduler.submit(all.get(i), i);
    }
    finish(scheduler, 5);

    assertThat(all).extracting(Sequence::admittedAt).isSorted().doesNotHaveDuplicates();
    assertThat(scheduler.totals().maxRunning()).isEqualTo(1);
  }

  @Test
  void headOfTheQueueWaitsForRoomAndIsNotOvertaken() {
    Scheduler scheduler = scheduler(20, 8);
    Sequence large = sequence(1, 100, 20);
    Sequence larger = sequence(2, 100, 60);
    Sequence small = sequence(3, 10, 1);
    scheduler.submit(large, 0);
    scheduler.submit(larger, 0);
    scheduler.submit(small, 0);
    scheduler.advance(0);

    assertThat(large.phase()).isEqualTo(Phase.PREFILLING);
    assertThat(larger.phase()).isEqualTo(Phase.QUEUED);
    assertThat(small.phase()).isEqualTo(Phase.QUEUED);
    finish(scheduler, 0);
    assertThat(larger.admittedAt()).isEqualTo(large.finishedAt());
    assertThat(small.admittedAt()).isGreaterThanOrEqualTo(larger.admittedAt());
  }

  @Test
  void capacityIsNeverExceededAndAllBlocksAreReleased() {
    Scheduler scheduler = scheduler(30, 64);
    for (int i = 0; i < 50; i++) {
      scheduler.submit(sequence(i % 7, 20 + i, 1 + i), 0);
    }
    long next = scheduler.advance(0);
    while (next != Scheduler.NEVER) {
      assertThat(scheduler.cache().pinnedBlocks() + scheduler.cache().idleBlocks())
          .isLessThanOrEqualTo(30);
      next = scheduler.advance(next);
    }
    assertThat(scheduler.cache().pinnedBlocks()).isZero();
    assertThat(scheduler.totals().finished()).isEqualTo(50);
    assertThat(scheduler.tokensInPrefill()).isZero();
  }

  @Test
  void longPromptIsComputedInChunksBesideDecoding() {
    Scheduler scheduler = new Scheduler(new EngineLimits(1000, 10, 8, 50, 10_000, 0, 0), LINEAR);
    Sequence decoding = sequence(1, 10, 100);
    scheduler.submit(decoding, 0);
    scheduler.advance(0);
    scheduler.advance(10 * MS);
    Sequence lengthy = sequence(2, 200, 1);
    scheduler.submit(lengthy, 11 * MS);
    finish(scheduler, 11 * MS);

    long steps = (lengthy.firstTokenAt() - lengthy.admittedAt()) / MS;
    assertThat(steps).isEqualTo(200 + 5 * 10);
  }

  @Test
  void abortFreesMemoryInEveryPhase() {
    Scheduler scheduler = scheduler(100, 2);
    Sequence decoding = sequence(1, 10, 50);
    scheduler.submit(decoding, 0);
    scheduler.advance(0);
    scheduler.advance(10 * MS);
    Sequence prefilling = sequence(2, 300, 50);
    scheduler.submit(prefilling, 10 * MS);
    scheduler.advance(20 * MS);
    Sequence queued = sequence(3, 10, 50);
    scheduler.submit(queued, 21 * MS);

    assertThat(List.of(decoding.phase(), prefilling.phase(), queued.phase()))
        .containsExactly(Phase.DECODING, Phase.PREFILLING, Phase.QUEUED);
    List.of(decoding, prefilling, queued).forEach(scheduler::abort);
    scheduler.abort(queued);

    assertThat(scheduler.cache().pinnedBlocks()).isZero();
    assertThat(scheduler.running() + scheduler.waiting()).isZero();
    assertThat(scheduler.tokensInPrefill()).isZero();
    assertThat(scheduler.totals().aborted()).isEqualTo(3);
    assertThat(finish(scheduler, 22 * MS)).isPositive();
  }

  @Test
  void queueLimitsCountSequencesAndTokensInPrefill() {
    Scheduler byRequests = new Scheduler(new EngineLimits(100, 10, 1, 8192, 999, 2, 0), LINEAR);
    byRequests.submit(sequence(1, 10, 1), 0);
    assertThat(byRequests.rejection()).isNull();
    byRequests.submit(sequence(2, 10, 1), 0);
    assertThat(byRequests.rejection()).isEqualTo(EngineRejection.MAX_NUM_QUEUED_REQS);

    Scheduler byTokens = new Scheduler(new EngineLimits(100, 10, 1, 8192, 999, 0, 50), LINEAR);
    byTokens.submit(sequence(1, 49, 1), 0);
    assertThat(byTokens.rejection()).isNull();
    byTokens.submit(sequence(2, 1, 1), 0);
    assertThat(byTokens.rejection()).isEqualTo(EngineRejection.MAX_NUM_QUEUED_TOKENS);
    finish(byTokens, 0);
    assertThat(byTokens.rejection()).isNull();
  }

  @Test
  void sequenceThatCanNeverFitIsRefused() {
    Scheduler scheduler = scheduler(10, 2);

    assertThatThrownBy(() -> scheduler.submit(sequence(1, 90, 11), 0))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void prefillOnlySequenceEndsWithItsPrompt() {
    Scheduler scheduler = scheduler(10, 2);
    Sequence pooling = sequence(1, 30, 0);
    scheduler.submit(pooling, 0);
    finish(scheduler, 0);

    assertThat(pooling.finishedAt()).isEqualTo(30 * MS);
    assertThat(pooling.produced()).isZero();
  }

  @Test
  void lateCallsDoNotProlongSteps() {
    Scheduler scheduler = scheduler(100, 4);
    Sequence sequence = sequence(1, 100, 3);
    scheduler.submit(sequence, 0);
    scheduler.advance(0);
    scheduler.advance(119 * MS);
    scheduler.advance(500 * MS);

    assertThat(sequence.finishedAt()).isEqualTo(120 * MS);
  }

  @Test
  void stepTakesNoSequenceThatArrivedAfterItsStart() {
    Scheduler scheduler = scheduler(100, 4);
    Sequence first = sequence(1, 100, 10);
    scheduler.submit(first, 0);
    scheduler.advance(0);
    Sequence late = sequence(2, 10, 1);
    scheduler.submit(late, 115 * MS);
    finish(scheduler, 300 * MS);

    assertThat(late.admittedAt()).isEqualTo(120 * MS);
    assertThat(late.firstTokenAt()).isEqualTo(140 * MS);
  }

  @Test
  void engineWithoutLatencyAdmitsArrivalsDuringALongResponse() {
    EngineLimits limits = new EngineLimits(100_000, 10, 8, 8192, 1_000_000, 0, 0);
    Scheduler scheduler = new Scheduler(limits, LinearLatency.none());
    scheduler.submit(sequence(1, 10, 100_000), 0);
    scheduler.advance(0);
    Sequence late = sequence(2, 10, 1);
    scheduler.submit(late, 5);
    scheduler.advance(6);
    scheduler.advance(7);

    assertThat(late.phase()).isEqualTo(Phase.FINISHED);
    assertThat(late.admittedAt()).isEqualTo(6);
  }

  @Test
  void sameInputGivesTheSameHistory() {
    assertThat(history()).isEqualTo(history()).isNotEmpty();
  }

  @Test
  void stepModelFollowsItsFormula() {
    long idle = new StepLatency().stepNanos(new SimLatencyModel.Step(0, 0, 0, 400_000));
    long prefill = new StepLatency().stepNanos(new SimLatencyModel.Step(8192, 0, 0, 400_000));
    long full = new StepLatency().stepNanos(new SimLatencyModel.Step(0, 9, 900_000, 400_000));

    assertThat(idle).isEqualTo(5_740_000);
    assertThat(prefill / 1e6).isCloseTo(28.25 + 124.35 + 16.5 + 5.74, within(0.02));
    assertThat(full / 1e6).isCloseTo(34.01, within(0.001));
  }

  private List<String> history() {
    log.clear();
    Scheduler scheduler = scheduler(40, 8);
    for (int i = 0; i < 20; i++) {
      scheduler.advance(i * 7L * MS);
      scheduler.submit(sequence(i % 3, 30 + i * 3, 1 + i % 5), i * 7L * MS);
    }
    finish(scheduler, 20 * 7 * MS);
    return List.copyOf(log);
  }

  private static Offset<Double> within(double value) {
    return Offset.offset(value);
  }

  private static Scheduler scheduler(int blocks, int maxRunning) {
    return new Scheduler(new EngineLimits(blocks, 10, maxRunning, 8192, 100_000, 0, 0), LINEAR);
  }

  private static long finish(Scheduler scheduler, long from) {
    long now = from;
    long next = scheduler.advance(now);
    while (next != Scheduler.NEVER) {
      now = next;
      next = scheduler.advance(now);
    }
    return now;
  }

  private Sequence sequence(int family, int prompt, int output) {
    int[] tokens = IntStream.range(0, prompt).map(i -> family * 10_000 + i).toArray();
    return new Sequence(
        BlockHashes.of(tokens, 10, 0),
        prompt,
        output,
        s -> log.add(family + ":" + prompt + ":" + s.produced() + "@" + s.firstTokenAt()));
  }
}
