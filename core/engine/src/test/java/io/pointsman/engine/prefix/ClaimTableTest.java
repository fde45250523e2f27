package io.pointsman.engine.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.env.LargePages;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ClaimTableTest {
  private static final int BLOCKS = 64;
  private static final int ROUNDS = 300_000;

  private final SlotEpochs epochs = new SlotEpochs(BLOCKS);
  private final ClaimTable table = new ClaimTable(64 << 10, epochs, LargePages.NONE);

  /** All blocks have the same bucket, so every write replaces another thread's. */
  private static long hash(int block) {
    return (long) (block + 1) << 16;
  }

  @Test
  void wordsOfTwoWritersNeverFormAnEntry() throws Exception {
    List<Callable<Integer>> writers = List.of(() -> writeAndRead(1), () -> writeAndRead(2));
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      for (Future<Integer> wrong : threads.invokeAll(writers, 4, TimeUnit.MINUTES)) {
        assertThat(wrong.get()).isZero();
      }
    }
    assertThat(table.evicting()).isTrue();
  }

  /** Any thread claims a block only for the slot with the block's number. */
  private int writeAndRead(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
      int block = random.nextInt(BLOCKS);
      table.putAlone(hash(block), epochs.of(block), i);
      int other = random.nextInt(BLOCKS);
      for (long found = table.find(hash(other), 0);
          found != -1;
          found = table.find(hash(other), ClaimTable.wayOf(found) + 1)) {
        wrong += ClaimTable.claimOf(found) == epochs.of(other) ? 0 : 1;
      }
    }
    return wrong;
  }

  @Test
  void growthDropsDepartedWorkers() {
    for (int block = 0; block < ClaimTable.WAYS; block++) {
      table.putAlone(hash(block), epochs.of(block), 9 - block);
    }
    epochs.end(3, () -> {});
    table.putAlone(hash(40), epochs.of(40), 10);

    assertThat(table.find(hash(3), 0)).isEqualTo(-1);
    for (int block : List.of(0, 1, 2, 4, 5, 6, 7, 40)) {
      assertThat(table.find(hash(block), 0)).isNotEqualTo(-1);
    }
  }

  @Test
  void renewedClaimOutlivesOlderOnes() {
    for (int block = 0; block < ClaimTable.WAYS; block++) {
      table.putAlone(hash(block), epochs.of(block), block);
    }
    assertThat(table.putAlone(hash(0), epochs.of(0), 20)).isEqualTo(ClaimTable.RENEWED);
    assertThat(table.putAlone(hash(40), epochs.of(40), 21)).isEqualTo(ClaimTable.REPLACED);

    assertThat(table.find(hash(0), 0)).isNotEqualTo(-1);
    assertThat(table.find(hash(1), 0)).isEqualTo(-1);
  }
}
