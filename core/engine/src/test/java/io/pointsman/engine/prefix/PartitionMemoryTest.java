package io.pointsman.engine.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.env.LargePages;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class PartitionMemoryTest {
  private static final long FULL = 64 << 10;
  private static final int A_SLAB = 32;
  private static final int BLOCKS = 150_000;
  private static final long MIX = 0x9E3779B97F4A7C15L;

  private final Deque<Consumer<MemorySegment>> asked = new ArrayDeque<>();
  private final MemorySegment slab = Arena.ofAuto().allocate(2 << 20, 64);
  private final LargePages later = (_, ready) -> asked.add(ready);

  private void half(PartitionMemory memory, int times) {
    for (int i = 0; i < times; i++) {
      assertThat(memory.allocate(FULL / 2).byteSize()).isEqualTo(FULL / 2);
    }
  }

  private boolean inSlab(MemorySegment partition) {
    long offset = partition.address() - slab.address();
    return offset >= 0 && offset < slab.byteSize();
  }

  @Test
  void halfGrownPartitionsRequestLargePagesOnceForMany() {
    PartitionMemory memory = new PartitionMemory(later, FULL, 100);
    memory.allocate(FULL / 4);
    assertThat(asked).isEmpty();
    half(memory, 20);
    assertThat(asked).hasSize(1);
    asked.remove().accept(slab);
    assertThat(asked).isEmpty();
    for (int i = 0; i < A_SLAB; i++) {
      assertThat(inSlab(memory.allocate(FULL))).isTrue();
    }
    assertThat(inSlab(memory.allocate(FULL))).isFalse();
  }

  @Test
  void moreHalfGrownPartitionsRequestMorePages() {
    PartitionMemory memory = new PartitionMemory(later, FULL, 100);
    half(memory, 40);
    assertThat(asked).hasSize(1);
    asked.remove().accept(slab);
    assertThat(asked).hasSize(1);
  }

  @Test
  void noDecisionWaitsForLargePagesAndLateOnesAreDropped() {
    PartitionMemory memory = new PartitionMemory(later, FULL, 4);
    half(memory, 4);
    for (int i = 0; i < 4; i++) {
      assertThat(inSlab(memory.allocate(FULL))).isFalse();
    }
    asked.remove().accept(slab);
    assertThat(inSlab(memory.allocate(FULL))).isFalse();
    assertThat(asked).isEmpty();
  }

  @Test
  void anUnneededPartitionIsClearedAndReused() {
    PartitionMemory memory = new PartitionMemory(LargePages.NONE, FULL, 4);
    MemorySegment unused = memory.allocate(FULL);
    unused.set(ValueLayout.JAVA_LONG, 8, 7);
    memory.giveBack(unused);
    MemorySegment next = memory.allocate(FULL);
    assertThat(next.address()).isEqualTo(unused.address());
    assertThat(next.get(ValueLayout.JAVA_LONG, 8)).isZero();
  }

  @Test
  void aTableFindsItsClaimsInAnyMemory() {
    SlotEpochs epochs = new SlotEpochs(4);
    LargePages atOnce = (bytes, ready) -> ready.accept(Arena.ofAuto().allocate(bytes, 64));
    ClaimTable table = new ClaimTable(4 << 20, epochs, atOnce);
    int claim = epochs.of(1);
    for (long block = 1; block <= BLOCKS; block++) {
      table.put(block * MIX, claim, 1);
    }
    assertThat(table.bytes()).isGreaterThan(3 << 20);
    int found = 0;
    for (long block = 1; block <= BLOCKS; block++) {
      found += ClaimTable.claimOf(table.find(block * MIX, 0)) == claim ? 1 : 0;
    }
    assertThat(found).isGreaterThan(BLOCKS / 10 * 9);
  }
}
