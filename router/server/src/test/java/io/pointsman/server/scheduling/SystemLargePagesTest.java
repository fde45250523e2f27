package io.pointsman.server.scheduling;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.env.LargePages;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SystemLargePagesTest {
  @Test
  void memoryHasTheRequestedSizeAndIsZeroed() throws Exception {
    LargePages pages = SystemLargePages.ofThisMachine();
    CompletableFuture<MemorySegment> found = new CompletableFuture<>();
    pages.find(2 << 20, found::complete);
    if (pages.equals(LargePages.NONE)) {
      assertThat(found).isNotDone();
      return;
    }
    MemorySegment memory = found.get(60, TimeUnit.SECONDS);
    assertThat(memory.byteSize()).isEqualTo(2 << 20);
    assertThat(memory.address() % (2 << 20)).isZero();
    for (long at = 0; at < memory.byteSize(); at += 4096) {
      assertThat(memory.get(ValueLayout.JAVA_LONG, at)).isZero();
    }
    memory.set(ValueLayout.JAVA_LONG, (2 << 20) - 8, 1);
  }
}
