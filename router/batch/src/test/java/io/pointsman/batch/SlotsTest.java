package io.pointsman.batch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SlotsTest {
  private final AtomicInteger setting = new AtomicInteger(8);

  @Test
  void theNumberFollowsTheSettingAlsoBelowTheTakenOnes() {
    Slots slots = new Slots(setting::get, true);
    slots.acquireUninterruptibly(5);
    setting.set(2);
    slots.follow();
    assertThat(slots.tryAcquire()).isFalse();
    slots.release(5);
    assertThat(slots.availablePermits()).isEqualTo(2);
    setting.set(3);
    slots.follow();
    assertThat(slots.availablePermits()).isEqualTo(3);
  }

  /** A batch begins while a reload changes the setting. */
  @Test
  void ofTwoThreadsTheOneWithTheNewerValueWins() throws Exception {
    CountDownLatch read = new CountDownLatch(1);
    CountDownLatch goesOn = new CountDownLatch(1);
    Thread reload = Thread.currentThread();
    AtomicInteger calls = new AtomicInteger();
    Slots slots =
        new Slots(
            () -> {
              int value = setting.get();
              if (calls.getAndIncrement() == 1) {
                read.countDown();
                await(goesOn);
              }
              return value;
            },
            true);
    Thread begin = Thread.ofPlatform().start(slots::follow);
    read.await();
    setting.set(1);
    Thread wakes =
        Thread.ofPlatform()
            .start(
                () -> {
                  // The reload waits for the lock, or has not waited and looks at the end.
                  while (reload.getState() == Thread.State.RUNNABLE) {
                    Thread.onSpinWait();
                  }
                  goesOn.countDown();
                });
    slots.follow();
    begin.join();
    wakes.join();
    assertThat(slots.availablePermits()).isEqualTo(1);
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
