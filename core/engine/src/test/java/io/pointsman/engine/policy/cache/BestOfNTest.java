package io.pointsman.engine.policy.cache;

import static io.pointsman.engine.policy.cache.CacheAwareFixture.request;
import static io.pointsman.engine.prefix.Prompts.prompt;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * 32 distinct prompts of 55 blocks with 8 samples each, on 4 workers. Each prompt is computed once
 * and each worker receives its 64 requests, in any order of arrival.
 */
class BestOfNTest {
  private static final int PROMPTS = 32;
  private static final int SAMPLES = 8;
  private static final int WORKERS = 4;
  private static final int SHARE = PROMPTS * SAMPLES / WORKERS;
  private static final int ALL_IN_FLIGHT = Integer.MAX_VALUE;

  @Test
  void samplesOfOnePromptAfterTheOther() {
    assertThat(run(grouped(), ALL_IN_FLIGHT, 1)).isEqualTo(new Result(0, PROMPTS));
  }

  @Test
  void promptsInterleaved() {
    assertThat(run(interleaved(), ALL_IN_FLIGHT, 2)).isEqualTo(new Result(0, PROMPTS));
  }

  @Test
  void promptsNearlyInOrder() {
    for (int seed = 0; seed < 50; seed++) {
      assertThat(run(jittered(grouped(), 32, seed), ALL_IN_FLIGHT, seed))
          .isEqualTo(new Result(0, PROMPTS));
      assertThat(run(jittered(interleaved(), 16, seed), ALL_IN_FLIGHT, seed))
          .isEqualTo(new Result(0, PROMPTS));
    }
  }

  @Test
  void requestsThatEndMeanwhileChangeNothing() {
    for (int seed = 0; seed < 50; seed++) {
      assertThat(run(grouped(), 64, seed)).isEqualTo(new Result(0, PROMPTS));
      assertThat(run(interleaved(), 128, seed)).isEqualTo(new Result(0, PROMPTS));
    }
  }

  @Test
  void anyOrderHitsAndAlmostSpreadsEvenly() {
    int even = 0;
    for (int seed = 0; seed < 100; seed++) {
      List<Integer> order = grouped();
      Collections.shuffle(order, new Random(seed));
      Result result = run(order, ALL_IN_FLIGHT, seed);
      assertThat(result.misses).isEqualTo(PROMPTS);
      assertThat(result.furthestFromShare).isLessThanOrEqualTo(SAMPLES);
      even += result.furthestFromShare <= 2 ? 1 : 0;
    }
    assertThat(even).isGreaterThanOrEqualTo(85);
  }

  private record Result(int furthestFromShare, int misses) {}

  /**
   * @param mostInFlight maximum number in flight; beyond it the oldest request ends
   */
  private static Result run(List<Integer> order, int mostInFlight, long seed) {
    CacheAwareFixture fleet = new CacheAwareFixture(WORKERS, CacheAwareSettings.DEFAULTS, seed);
    int[] placed = new int[WORKERS];
    int misses = 0;
    Deque<Lease> inFlight = new ArrayDeque<>();
    for (int member : order) {
      if (inFlight.size() == mostInFlight) {
        inFlight.remove().succeeded();
      }
      RoutingRequest request = request(prompt(99, 2, member, 55));
      Lease lease = fleet.place(request);
      inFlight.add(lease);
      misses += request.result().reason() == PickReason.PREFIX_HIT ? 0 : 1;
      placed[fleet.workers.indexOf(lease.worker())]++;
    }
    inFlight.forEach(Lease::succeeded);
    assertThat(fleet.workers).extracting(Worker::inFlight).containsOnly(0);
    int furthest = 0;
    for (int count : placed) {
      furthest = Math.max(furthest, Math.abs(count - SHARE));
    }
    return new Result(furthest, misses);
  }

  private static List<Integer> grouped() {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < PROMPTS * SAMPLES; i++) {
      order.add(i / SAMPLES);
    }
    return order;
  }

  private static List<Integer> interleaved() {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < PROMPTS * SAMPLES; i++) {
      order.add(i % PROMPTS);
    }
    return order;
  }

  /** Moves each element by less than {@code by} positions. */
  private static List<Integer> jittered(List<Integer> order, int by, long seed) {
    Random random = new Random(seed);
    record At(double place, int member) {}
    List<At> moved = new ArrayList<>();
    for (int i = 0; i < order.size(); i++) {
      moved.add(new At(i + random.nextDouble() * by, order.get(i)));
    }
    moved.sort((a, b) -> Double.compare(a.place, b.place));
    return new ArrayList<>(moved.stream().map(At::member).toList());
  }
}
