package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBufAllocator;
import io.pointsman.it.support.DefectLog;
import io.pointsman.testkit.Residue;
import java.io.FileInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The checks after each fault detect planted leaks. */
@Timeout(180)
final class ResidueTest {
  private static final Duration AT_ONCE = Duration.ofMillis(50);

  /** Far above the tolerance, because earlier classes may release resources in the meantime. */
  private static final int MANY = 60;

  @Test
  void anUnreleasedBufferIsFound() {
    LostBuffers.watch();
    try (DefectLog log = DefectLog.attach()) {
      lose();
      LostBuffers.log();
      assertThatThrownBy(log::verify).hasMessageContainingAll("LEAK", "lost on purpose");
      try (DefectLog later = DefectLog.attach()) {
        assertThatThrownBy(later::verify).hasMessageContaining("lost on purpose");
      }
    } finally {
      DefectLog.forgetLostBuffers();
    }
  }

  private static void lose() {
    ByteBufAllocator.DEFAULT.buffer(16).touch("lost on purpose");
  }

  @Test
  void openDescriptorsAreFound() throws IOException {
    Residue before = Residue.now();
    List<FileInputStream> open = new ArrayList<>();
    for (int i = 0; i < MANY; i++) {
      open.add(new FileInputStream("/proc/self/status"));
    }
    assertThatThrownBy(() -> before.verify(AT_ONCE)).hasMessageContaining("descriptors: ");
    for (FileInputStream each : open) {
      each.close();
    }
    before.verify();
  }

  @Test
  void runningThreadsAreFound() {
    Residue before = Residue.now();
    CountDownLatch over = new CountDownLatch(1);
    for (int i = 0; i < MANY; i++) {
      Thread.ofPlatform().name("stays").daemon().start(() -> await(over));
    }
    assertThatThrownBy(() -> before.verify(AT_ONCE)).hasMessageContaining("threads: ");
    over.countDown();
    before.verify();
  }

  private static void await(CountDownLatch over) {
    try {
      over.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
