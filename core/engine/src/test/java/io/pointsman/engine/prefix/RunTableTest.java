package io.pointsman.engine.prefix;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.env.LargePages;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.Test;

class RunTableTest {
  private static final int ROWS = 7;
  private static final int RUNS = 40;
  private static final int ROUNDS = 200_000;
  private static final int DROPS = 20_000;

  private final SlotEpochs epochs = new SlotEpochs(RUNS);
  private final RunTable table = new RunTable(64 << 10, epochs, LargePages.NONE);
  private final PrefixTally tally = new PrefixTally();

  /** All groups share one set, and every other one has the same tag. */
  private static Group group(int run, int size) {
    long[] hashes = new long[size];
    for (int i = 0; i < size; i++) {
      hashes[i] = (long) (run * Group.LENGTHS + i + 1) << 20;
    }
    return new Group(new PrefixBlocks(hashes, size, size * 16, 16, size * 16), size, 0);
  }

  private boolean held(int run, int position) {
    Group group = group(run, Group.LENGTHS);
    return table.holder(group.head(), position, group.hash(position)) != 0;
  }

  private void open(int run, int stamp) {
    table.open(group(run, Group.LENGTHS), epochs.of(run), stamp, tally);
  }

  private void drop(long head, int claim) {
    RunTable.Run present = table.run(head, claim, 0);
    if (present != null) {
      table.drop(head, claim, present);
    }
  }

  @Test
  void noteContainsTheLastUseAndTheNumberOfLengths() {
    int stamp = 1_000_000_007;
    for (int size = 1; size <= Group.LENGTHS; size++) {
      Group group = group(size, size);
      int claim = epochs.of(size);
      table.open(group, claim, stamp, tally);
      RunTable.Run run = requireNonNull(table.run(group.head(), claim, stamp + 12), "run");
      assertThat(run.count()).isEqualTo(size);
      assertThat(run.stamp()).isEqualTo(stamp);
      assertThat(table.usedSince(group.head(), 0, group.head(), claim, stamp)).isTrue();
      assertThat(table.usedSince(group.head(), 0, group.head(), claim, stamp + 1)).isFalse();
      drop(group.head(), claim);
      assertThat(table.entries()).isEqualTo(-size);
      table.counted(tally.added, tally.replaced);
      tally.added = 0;
    }
    assertThat(table.entries()).isZero();
  }

  @Test
  void addedAndRemovedLengthsAreCounted() {
    Group whole = group(1, Group.LENGTHS);
    int claim = epochs.of(1);
    table.open(group(1, 3), claim, 1, tally);
    table.renew(whole, 3, claim, 2, tally);
    table.clear(whole.head(), claim, 6, whole.prefix().hashes(), 6, 8);
    table.counted(tally.added, tally.replaced);
    assertThat(table.entries()).isEqualTo(6);
    assertThat(requireNonNull(table.run(whole.head(), claim, 3), "run").stamp()).isEqualTo(2);
    table.clear(whole.head(), claim, 6, whole.prefix().hashes(), 6, 8);
    assertThat(table.entries()).as("nothing twice").isEqualTo(6);
    drop(whole.head(), claim);
    assertThat(table.entries()).isZero();
  }

  @Test
  void wordsOfTwoWritersNeverFormARun() throws Exception {
    List<Callable<Integer>> writers = List.of(() -> writeAndRead(1), () -> writeAndRead(2));
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      for (Future<Integer> wrong : threads.invokeAll(writers, 4, TimeUnit.MINUTES)) {
        assertThat(wrong.get()).isZero();
      }
    }
    assertThat(table.evicting()).isTrue();
  }

  /** Any thread enters a run only for the slot with the run's number. */
  private int writeAndRead(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    PrefixTally own = new PrefixTally();
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
      int run = random.nextInt(RUNS);
      int size = 3 + random.nextInt(6);
      if (table.renew(group(run, size), 0, epochs.of(run), i, own) == 0) {
        table.open(group(run, size), epochs.of(run), i, own);
      }
      int other = random.nextInt(RUNS);
      Group asked = group(other, Group.LENGTHS);
      int position = random.nextInt(Group.LENGTHS);
      int holder = table.holder(asked.head(), position, asked.hash(position));
      wrong += holder == 0 || holder == epochs.of(other) ? 0 : 1;
    }
    return wrong;
  }

  @Test
  void runRemovedBySeveralThreadsIsCountedOnce() throws Exception {
    for (IntConsumer takingOut : List.<IntConsumer>of(this::drop, this::clear)) {
      CyclicBarrier together = new CyclicBarrier(2);
      List<Callable<Integer>> both =
          List.of(() -> takeOut(together, this::drop), () -> takeOut(together, takingOut));
      try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
        for (Future<Integer> done : threads.invokeAll(both, 4, TimeUnit.MINUTES)) {
          assertThat(done.get()).isZero();
        }
      }
    }
    assertThat(table.entries()).isZero();
  }

  private int takeOut(CyclicBarrier together, IntConsumer takingOut) throws Exception {
    for (int i = 0; i < DROPS; i++) {
      if (together.await() == 0) {
        openCounted(1, i);
      }
      together.await();
      takingOut.accept(1);
    }
    return 0;
  }

  private void openCounted(int run, int stamp) {
    PrefixTally opened = new PrefixTally();
    table.open(group(run, 8), epochs.of(run), stamp, opened);
    table.counted(opened.added, opened.replaced);
  }

  private void drop(int run) {
    drop(group(run, 8).head(), epochs.of(run));
  }

  private void clear(int run) {
    Group group = group(run, 8);
    table.clear(group.head(), epochs.of(run), 0, group.prefix().hashes(), 0, 8);
  }

  /** Each thread enters its own runs and removes any thread's, in a set that is too small. */
  @Test
  void removedLengthsAreCountedForAnyThread() throws Exception {
    for (int run = 0; !table.evicting(); run++) {
      open(run % RUNS, 0);
    }
    table.counted(tally.added, tally.replaced);
    List<Callable<Integer>> writers = List.of(() -> openAndTakeOut(0), () -> openAndTakeOut(1));
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      for (Future<Integer> done : threads.invokeAll(writers, 4, TimeUnit.MINUTES)) {
        assertThat(done.get()).isZero();
      }
    }

    long held = 0;
    for (int run = 0; run < RUNS; run++) {
      RunTable.Run left = table.run(group(run, 8).head(), epochs.of(run), ROUNDS);
      held += left == null ? 0 : left.count();
    }
    assertThat(table.entries()).isEqualTo(held);
  }

  private int openAndTakeOut(int own) {
    SplittableRandom random = new SplittableRandom(own);
    for (int i = 0; i < 5 * ROUNDS; i++) {
      int run = random.nextInt(RUNS / 2) * 2 + own;
      long head = group(run, 8).head();
      if (table.run(head, epochs.of(run), i) == null) {
        openCounted(run, i);
      }
      clear(random.nextInt(RUNS));
    }
    return 0;
  }

  @Test
  void growthDropsDepartedWorkers() {
    for (int run = 0; run < ROWS; run++) {
      open(run, 9 - run);
    }
    epochs.end(3, () -> {});
    open(20, 10);

    assertThat(held(3, 0)).isFalse();
    for (int run : List.of(0, 1, 2, 4, 5, 6, 20)) {
      assertThat(held(run, 7)).as("run %d", run).isTrue();
    }
    assertThat(tally.replaced).isZero();
  }

  /** Removing a whole row does not erase its words. */
  @Test
  void clearedRunDoesNotReappearInAShorterOne() {
    Group whole = group(1, 8);
    long[] hashes = whole.prefix().hashes();
    open(1, 1);

    assertThat(table.clear(whole.head(), epochs.of(1), 0, hashes, 0, 8)).isEqualTo(0xFF);

    assertThat(held(1, 0)).isFalse();
    assertThat(held(1, 7)).isFalse();
    table.open(group(1, 3), epochs.of(1), 2, tally);
    assertThat(held(1, 2)).isTrue();
    assertThat(held(1, 3)).isFalse();
    assertThat(table.clear(whole.head(), epochs.of(1), 2, hashes, 2, 8)).isEqualTo(1);
    assertThat(held(1, 1)).isTrue();
    assertThat(held(1, 2)).isFalse();
    table.counted(tally.added, tally.replaced);
    assertThat(table.entries()).isEqualTo(2);
  }

  @Test
  void renewedRunOutlivesOlderOnes() {
    for (int run = 0; run < ROWS; run++) {
      open(run, run);
    }
    assertThat(table.renew(group(0, 8), 0, epochs.of(0), 20, tally)).isEqualTo(0xFF);
    open(20, 21);

    assertThat(held(0, 7)).isTrue();
    assertThat(held(1, 0)).isFalse();
    assertThat(tally.replaced).isEqualTo(8);
  }

  @Test
  void runAcceptsOnlyLengthsThatFitAndContinueIt() {
    table.open(group(1, 5), epochs.of(1), 0, tally);
    assertThat(table.renew(group(1, 8), 5, epochs.of(1), 1, tally)).isEqualTo(0b1110_0001);
    assertThat(held(1, 7)).isTrue();

    long[] hashes = group(1, 8).prefix().hashes().clone();
    hashes[6]++;
    Group parting = new Group(new PrefixBlocks(hashes, 8, 128, 16, 128), 8, 0);
    assertThat(table.renew(parting, 0, epochs.of(1), 2, tally)).isEqualTo(0b1011_1111);
    assertThat(held(1, 6)).isTrue();
    assertThat(table.holder(parting.head(), 6, parting.hash(6))).isZero();
  }

  @Test
  void nothingOfAnEarlierRunReappears() {
    int claim = epochs.of(1);
    for (int run = 0; run < ROWS; run++) {
      table.open(group(run, 8), claim, run, tally);
    }
    table.open(group(16, 3), claim, 10, tally);
    for (int position = 3; position < Group.LENGTHS; position++) {
      assertThat(table.holder(group(16, 8).head(), position, group(0, 8).hash(position))).isZero();
    }
  }
}
