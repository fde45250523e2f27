package io.pointsman.server.scheduling;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoRegistration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A turn with a sleep first polls without waiting, and waits after the sleep. */
@Timeout(120)
class CoalescingTest {
  private static final long NO_TASK = TimeUnit.SECONDS.toNanos(1);
  private static final int MANY = 1_000;

  private final Waits waits = new Waits();
  private long now;
  private int running = MANY;
  private boolean enabled = true;
  private Coalescing coalescing =
      new Coalescing(waits, () -> running, () -> now, Coalescing.SLEEP_NANOS, () -> enabled);

  @Test
  void aLoopWithManyStreamsPollsSleepsAndThenWaits() {
    busy(Coalescing.LEAST_EVENTS);

    turn(true, 0);

    assertThat(waits.blocking).containsExactly(false, true);
  }

  @Test
  void readyEventsAreHandledWithoutASleep() {
    busy(Coalescing.LEAST_EVENTS);

    turn(true, 3);

    assertThat(waits.blocking).containsExactly(false);
  }

  @Test
  void aLoopWithTasksDoesNotSleep() {
    busy(Coalescing.LEAST_EVENTS);

    turn(false, 0);

    assertThat(waits.blocking).containsExactly(false);
  }

  @Test
  void aLoopWithFewEventsWaitsWithoutASleep() {
    busy(Coalescing.LEAST_EVENTS - 100);

    turn(true, 0);

    assertThat(waits.blocking).containsExactly(true);
  }

  @Test
  void fewRequestsWithManyEventsEachAreNotDelayed() {
    running = (int) (Coalescing.LEAST_EVENTS / Coalescing.MOST_EVENTS_OF_ONE) - 1;
    busy(Coalescing.LEAST_EVENTS);

    turn(true, 0);

    assertThat(waits.blocking).containsExactly(true);
  }

  @Test
  void theLoopStopsSleepingWhenEventsAreFew() {
    busy(Coalescing.LEAST_EVENTS);
    now += 10 * Coalescing.WINDOW_NANOS;
    turn(true, 1);
    waits.blocking.clear();

    turn(true, 0);

    assertThat(waits.blocking).containsExactly(true);
  }

  @Test
  void aLoopSleepsOnlyWhileItIsSwitchedOn() {
    busy(Coalescing.LEAST_EVENTS);
    enabled = false;
    turn(true, 0);
    assertThat(waits.blocking).containsExactly(true);

    enabled = true;
    busy(Coalescing.LEAST_EVENTS);
    turn(true, 0);
    assertThat(waits.blocking).containsExactly(false, true);
  }

  @Test
  void theSleepEndsBeforeTheNextTask() {
    Coalescing longSleep = busyWithLongSleep();
    waits.due = 0;

    longSleep.run(waits.context(true));

    assertThat(waits.blocking).containsExactly(false, true);
  }

  @Test
  void aWakeupEndsTheSleep() throws InterruptedException {
    Coalescing longSleep = busyWithLongSleep();
    Thread loop = Thread.ofPlatform().daemon().start(() -> longSleep.run(waits.context(true)));

    while (loop.isAlive()) {
      longSleep.wakeup();
      loop.join(1);
    }

    assertThat(waits.blocking).containsExactly(false, true);
    assertThat(waits.woken).isTrue();
  }

  /** A sleep that nothing ends makes the test fail. */
  private Coalescing busyWithLongSleep() {
    coalescing =
        new Coalescing(waits, () -> running, () -> now, TimeUnit.HOURS.toNanos(1), () -> true);
    busy(Coalescing.LEAST_EVENTS);
    waits.found = 0;
    waits.due = Long.MAX_VALUE;
    return coalescing;
  }

  /** Runs one window with this event rate per second. */
  private void busy(long rate) {
    now += Coalescing.WINDOW_NANOS;
    turn(true, (int) (rate * Coalescing.WINDOW_NANOS / 1_000_000_000));
    waits.blocking.clear();
  }

  private void turn(boolean canBlock, int found) {
    waits.found = found;
    coalescing.run(waits.context(canBlock));
  }

  /** Socket handler that records its calls. */
  private static final class Waits implements IoHandler {
    private final List<Boolean> blocking = new ArrayList<>();
    private int found;
    private long due = NO_TASK;
    private volatile boolean woken;

    private IoHandlerContext context(boolean canBlock) {
      return new IoHandlerContext() {
        @Override
        public boolean canBlock() {
          return canBlock;
        }

        @Override
        public long delayNanos(long now) {
          return due;
        }

        @Override
        public long deadlineNanos() {
          return due;
        }
      };
    }

    @Override
    public int run(IoHandlerContext context) {
      blocking.add(context.canBlock());
      return found;
    }

    @Override
    public IoRegistration register(IoHandle handle) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void wakeup() {
      woken = true;
    }

    @Override
    public boolean isCompatible(Class<? extends IoHandle> type) {
      return true;
    }
  }
}
