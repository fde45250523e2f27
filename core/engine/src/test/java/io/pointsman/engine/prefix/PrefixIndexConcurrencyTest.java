package io.pointsman.engine.prefix;

import static io.pointsman.engine.prefix.PrefixIndexProperties.holders;
import static io.pointsman.engine.prefix.Prompts.prompt;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Colliding writers in a table far too small for them, with readers and fleet changes. */
class PrefixIndexConcurrencyTest {
  private static final int SLOTS = 40;
  private static final int FAMILIES = 40;
  private static final int ROUNDS = 6_000;
  private static final int SPINS = 1000;
  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  private final PrefixIndex index = new PrefixIndex(64 << 10, SLOTS);

  /** Prompts of even families are placed in even slots only, odd ones in odd slots only. */
  @Test
  void claimsAreNeverMixedUp() throws Exception {
    List<Callable<Integer>> work = new ArrayList<>();
    for (int writer = 0; writer < 3; writer++) {
      int seed = writer;
      work.add(() -> write(new SplittableRandom(seed)));
    }
    work.add(() -> forgetAndCheck(new SplittableRandom(11)));
    work.add(() -> read(new SplittableRandom(12)));

    assertThat(run(work)).containsOnly(0);
    assertThat(index.evictions()).isPositive();
    assertThat(index.bytes()).isLessThanOrEqualTo(index.maxBytes());
  }

  /** Entries lost in collisions are found again after one thread adds them alone. */
  @Test
  void promptAddedByManyThreadsIsFound() throws Exception {
    PrefixIndex roomy = new PrefixIndex(4 << 20, SLOTS);
    List<Callable<Integer>> work = new ArrayList<>();
    for (int writer = 0; writer < 4; writer++) {
      int slot = writer;
      work.add(
          () -> {
            for (int i = 0; i < 200; i++) {
              roomy.add(prompt(i, 40, 1, 40), roomy.epoch(slot), 0, i);
            }
            return 0;
          });
    }
    run(work);

    for (int i = 0; i < 200; i++) {
      PrefixBlocks prompt = prompt(i, 40, 1, 40);
      int slot = i % 4;
      roomy.add(prompt, roomy.epoch(slot), 0, 200);
      assertThat(roomy.match(prompt)).isEqualTo(40);
      assertThat(holders(roomy, prompt, 40)).contains(slot);
    }
  }

  /**
   * Both threads reach each prompt at about the same time. Concurrent writes to one entry may be
   * lost ({@link ClaimTable}), also removals, so a few entries may stay.
   */
  @ParameterizedTest
  @ValueSource(ints = {0, 4})
  @Tag("full")
  void evictionConcurrentWithAnAdditionRemovesTheClaim(int from) throws Exception {
    int prompts = 20_000;
    PrefixIndex roomy = new PrefixIndex(64 << 20, 2);
    for (int i = 0; i < prompts; i++) {
      roomy.add(prompt(i, 8, 1, 8), roomy.epoch(0), 0, 0);
    }
    AtomicIntegerArray at = new AtomicIntegerArray(2);
    run(
        List.of(
            () ->
                together(
                    at,
                    0,
                    prompts,
                    prompt -> {
                      Lengths lengths = PrefixIndexTest.lengths(prompt);
                      roomy.remove(lengths, from, 8, roomy.epoch(0));
                    }),
            () ->
                together(at, 1, prompts, prompt -> roomy.add(prompt, roomy.epoch(1), 0, MINUTE))));

    int left = 0;
    for (int i = 0; i < prompts; i++) {
      for (int length = from + 1; length <= 8; length++) {
        left += holders(roomy, prompt(i, 8, 1, 8), length).contains(0) ? 1 : 0;
      }
    }
    assertThat(left).isLessThan(100);
  }

  private static Integer together(
      AtomicIntegerArray at, int own, int prompts, Consumer<PrefixBlocks> action) {
    for (int i = 0; i < prompts; i++) {
      PrefixBlocks prompt = prompt(i, 8, 1, 8);
      at.set(own, i + 1);
      for (int spins = 1; at.get(1 - own) <= i; spins++) {
        if (spins % SPINS == 0) {
          LockSupport.parkNanos(1); // the other one may wait for this core
        } else {
          Thread.onSpinWait();
        }
      }
      action.accept(prompt);
    }
    return 0;
  }

  private Integer write(SplittableRandom random) {
    for (int i = 0; i < ROUNDS; i++) {
      int family = random.nextInt(FAMILIES);
      int slot = random.nextInt(SLOTS / 4) * 2 + (family & 1);
      PrefixBlocks prompt = prompt(family, 30, random.nextInt(50), 60);
      index.add(prompt, index.epoch(slot), index.match(prompt) / 2, i * 50_000_000L);
    }
    return 0;
  }

  private Integer read(SplittableRandom random) {
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
      int family = random.nextInt(FAMILIES);
      PrefixBlocks prompt = prompt(family, 30, random.nextInt(50), 60);
      int matched = index.match(prompt);
      if (matched > 0) {
        for (int slot : holders(index, prompt, matched)) {
          wrong += (slot & 1) == (family & 1) ? 0 : 1;
        }
      }
    }
    return wrong;
  }

  /** Only this thread uses the upper half of the slots, so everything it forgot must be gone. */
  private Integer forgetAndCheck(SplittableRandom random) {
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
      int family = random.nextInt(FAMILIES);
      int slot = SLOTS / 2 + random.nextInt(SLOTS / 4) * 2 + (family & 1);
      PrefixBlocks prompt = prompt(family, 30, random.nextInt(50), 60);
      index.add(prompt, index.epoch(slot), 0, i * 50_000_000L);
      index.forget(slot);
      for (int length = 1; length <= prompt.count(); length++) {
        wrong += holders(index, prompt, length).contains(slot) ? 1 : 0;
      }
      index.forget(random.nextInt(SLOTS / 2));
    }
    return wrong;
  }

  private static List<Integer> run(List<Callable<Integer>> work) throws Exception {
    List<Integer> results = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(work.size())) {
      List<Future<Integer>> futures = threads.invokeAll(work, 4, TimeUnit.MINUTES);
      for (Future<Integer> future : futures) {
        results.add(future.get());
      }
    }
    return results;
  }
}
