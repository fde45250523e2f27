package io.pointsman.proxy.body;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.Test;

/** The memory of a kept body equals the bytes that it reserves in the budget. */
class KeptBodyTest {
  private static final int READ = 65_536;

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false);
  private final BodyBudget budget = new BodyBudget(1 << 26);
  private final KeptBody body = new KeptBody(allocator, budget);

  private void addReads(int count, int bytesInEach) {
    for (int i = 0; i < count; i++) {
      ByteBuf part = allocator.buffer(READ);
      part.writeZero(bytesInEach);
      assertThat(body.add(part, false)).isTrue();
    }
    assertThat(body.length()).isEqualTo(count * bytesInEach);
  }

  private long real() {
    return allocator.metric().usedHeapMemory();
  }

  @Test
  void readsWithLittleDataCountWithTheirMemory() {
    addReads(100, 2048);

    assertThat(real()).isEqualTo(budget.taken()).isLessThan(2 * 100 * 2048);
  }

  @Test
  void readsBelowHalfTheirBufferCountWithTheirMemory() {
    addReads(20, 30_000);

    assertThat(real()).isEqualTo(budget.taken()).isLessThan(2 * 20 * 30_000);
  }

  @Test
  void readsOfHalfTheirBufferCountWithTheirMemory() {
    addReads(20, 40_000);

    assertThat(real()).isEqualTo(budget.taken()).isLessThan(2 * 20 * 40_000);
  }

  private ByteBuf slice(int bytes) {
    ByteBuf read = allocator.buffer(READ).writeZero(READ);
    ByteBuf slice = read.readRetainedSlice(bytes);
    read.release();
    return slice;
  }

  @Test
  void sliceOfAReadCountsWithTheMemoryOfTheRead() {
    assertThat(body.add(slice(40_000), false)).isTrue();
    assertThat(real()).isEqualTo(budget.taken()).isEqualTo(READ);
  }

  @Test
  void completeBodyInASliceCountsWithTheMemoryOfTheRead() {
    assertThat(body.add(slice(100), true)).isTrue();
    assertThat(real()).isEqualTo(budget.taken()).isEqualTo(READ);
  }

  @Test
  void smallSliceOfAReadDoesNotHoldIt() {
    assertThat(body.add(slice(3000), false)).isTrue();
    assertThat(real()).isEqualTo(budget.taken()).isLessThan(READ);
  }

  @Test
  void allMemoryIsReleased() {
    addReads(10, 3000);
    body.release();

    assertThat(real()).isZero();
    assertThat(budget.taken()).isZero();
  }
}
