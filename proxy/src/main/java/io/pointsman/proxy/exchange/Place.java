package io.pointsman.proxy.exchange;

import io.netty.util.concurrent.Future;
import io.pointsman.proxy.admission.Admission;
import io.pointsman.proxy.loop.LoopState;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One request's place among those under way: asked for once, perhaps waited for, given back once.
 * Belongs to the client's event loop, but for {@link #admitted}.
 */
final class Place implements Admission.Waiter {
  /** What an exchange hears of its place. */
  interface Holder {
    /** It may go on. */
    void placeTaken();

    /** It waited as long as is allowed. */
    void waitedTooLong();
  }

  private enum Phase {
    NONE,
    WAITING,
    HELD,
    OVER
  }

  private final LoopState state;
  private final Holder holder;
  private Admission admission;
  private Phase phase = Phase.NONE;
  private long queuedAt;
  private @Nullable Future<?> timer;

  Place(LoopState state, Holder holder) {
    this.state = state;
    this.holder = holder;
    admission = state.plane().admissions().of(null);
  }

  /** The line in which it stands, once it has asked. */
  Admission admission() {
    return admission;
  }

  /**
   * Asks for the place; false if even the queue is full.
   *
   * @param model what the request asks for, which says in which line it stands; null if nothing
   */
  boolean enter(@Nullable String model) {
    admission = state.plane().admissions().of(model);
    switch (admission.enter(this)) {
      case ADMITTED -> {
        phase = Phase.HELD;
        holder.placeTaken();
      }
      case QUEUED -> {
        phase = Phase.WAITING;
        queuedAt = state.now();
        long timeout = admission.settings().queueTimeout().toNanos();
        timer = state.loop().schedule(this::tooLong, timeout, TimeUnit.NANOSECONDS);
        wakeAfter(admission.wakeAfterNanos());
      }
      case FULL -> {
        phase = Phase.OVER;
        return false;
      }
    }
    return true;
  }

  private void wakeAfter(long nanos) {
    if (nanos != Admission.NO_WAKE) {
      state.loop().schedule(this::wake, nanos, TimeUnit.NANOSECONDS);
    }
  }

  private void wake() {
    wakeAfter(admission.wake());
  }

  /** On any thread. */
  @Override
  public void admitted() {
    state.loop().execute(this::take);
  }

  private void take() {
    if (phase != Phase.WAITING) {
      giveBack();
      return;
    }
    phase = Phase.HELD;
    cancelTimer();
    state.plane().listener().waited(state.now() - queuedAt, true);
    holder.placeTaken();
  }

  private void tooLong() {
    if (phase == Phase.WAITING && admission.quit(this)) {
      phase = Phase.OVER;
      state.plane().listener().waited(state.now() - queuedAt, false);
      holder.waitedTooLong();
    }
  }

  /** Gives the place back, or leaves the queue. May be called at any time, and again. */
  void leave() {
    Phase before = phase;
    phase = Phase.OVER;
    if (before == Phase.HELD) {
      giveBack();
    } else if (before == Phase.WAITING) {
      cancelTimer();
      if (admission.quit(this)) {
        state.plane().listener().waited(state.now() - queuedAt, false);
      }
    }
  }

  /** Whoever waits for the place may have to wait for the rate as well. */
  private void giveBack() {
    wakeAfter(admission.leave());
  }

  private void cancelTimer() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }
}
