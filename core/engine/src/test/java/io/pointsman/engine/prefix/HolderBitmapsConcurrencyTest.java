package io.pointsman.engine.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.env.LargePages;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A worker leaves while another thread builds a holder bitmap with the same block's holders. */
class HolderBitmapsConcurrencyTest {
  private static final int BLOCKS = 1_000_000;
  private static final int LEAVER = 4;

  @Test
  void workerThatLeavesDuringCreationIsNotInTheBitmap() throws Exception {
    assertThat(foundAfterLeaving(1)).isZero();
  }

  @Test
  @Tag("full")
  void workerThatLeavesDuringWideningIsNotInTheBitmap() throws Exception {
    assertThat(foundAfterLeaving(520)).isZero();
  }

  /**
   * Number of times a departed worker was found.
   *
   * @param apart slots between the other workers; five of them form a holder bitmap with it
   */
  private static int foundAfterLeaving(int apart) throws Exception {
    BlockIndex index =
        new BlockIndex(4 << 20, 1 << 20, new SlotEpochs(10 * apart + 10), LargePages.NONE);
    AtomicInteger block = new AtomicInteger();
    int found = 0;
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<?> others = threads.submit(() -> claimAll(index, block, apart));
      while (!others.isDone()) {
        long hash = hash(block.get());
        index.claim(hash, index.epoch(LEAVER), 0);
        index.forget(LEAVER);
        found += index.holds(hash, LEAVER) ? 1 : 0;
      }
      others.get();
    }
    return found;
  }

  private static void claimAll(BlockIndex index, AtomicInteger block, int apart) {
    for (int i = 1; i <= BLOCKS; i++) {
      for (int other = 0; other < 9; other++) {
        if (other == 3) {
          block.set(i);
        }
        if (other != LEAVER) {
          index.claim(hash(i), index.epoch(other * apart), 0);
        }
      }
    }
  }

  private static long hash(int block) {
    return block * 0x9E37_79B9_7F4A_7C15L;
  }
}
