package io.pointsman.proxy.exchange;

import io.netty.util.concurrent.Future;
import io.pointsman.proxy.admission.Admission;
import io.pointsman.proxy.admission.QueuedRequest;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.telemetry.RequestEvent.QueueWaitEnded;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Admission of one request: requested once, possibly queued, released once. Belongs to the client's
 * event loop, except {@link #admitted}.
 */
final class AdmissionPermit implements Admission.Waiter {
  /** Receiver of the result. */
  interface Holder {
    /** Reports that the request is admitted. */
    void admitted();

    /** Reports that the queue timeout has expired. */
    void waitedTooLong();

    /** Reports that the request has left the full queue for another one. */
    void displaced();
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
  private QueuedRequest request = QueuedRequest.UNNAMED;
  private Phase phase = Phase.NONE;
  private long queuedAt;
  private @Nullable Future<?> timer;

  AdmissionPermit(LoopState state, Holder holder) {
    this.state = state;
    this.holder = holder;
    admission = state.server().live().admissions().of(null);
  }

  /** The queue of this request, after {@link #enter}. */
  Admission admission() {
    return admission;
  }

  /**
   * Requests admission. Returns false if the queue is full.
   *
   * @param to the queue, by the model of the request
   */
  boolean enter(Admission to, QueuedRequest entering) {
    admission = to;
    request = entering;
    switch (admission.enter(this)) {
      case ADMITTED -> {
        phase = Phase.HELD;
        holder.admitted();
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

  @Override
  public QueuedRequest request() {
    return request;
  }

  /** Any thread. */
  @Override
  public void displaced() {
    state.loop().execute(this::giveWay);
  }

  private void giveWay() {
    if (phase == Phase.WAITING) {
      phase = Phase.OVER;
      cancelTimer();
      state.server().listener().on(new QueueWaitEnded(state.now() - queuedAt, false));
      holder.displaced();
    }
  }

  /** Any thread. */
  @Override
  public void admitted() {
    state.loop().execute(this::take);
  }

  private void take() {
    if (phase != Phase.WAITING) {
      giveBack(0);
      return;
    }
    phase = Phase.HELD;
    cancelTimer();
    state.server().listener().on(new QueueWaitEnded(state.now() - queuedAt, true));
    holder.admitted();
  }

  private void tooLong() {
    if (phase == Phase.WAITING && admission.quit(this)) {
      phase = Phase.OVER;
      state.server().listener().on(new QueueWaitEnded(state.now() - queuedAt, false));
      holder.waitedTooLong();
    }
  }

  /**
   * Releases the permit or leaves the queue. May be called at any time, more than once.
   *
   * @param tokens tokens of the request's prompt and answer
   */
  void leave(long tokens) {
    Phase before = phase;
    phase = Phase.OVER;
    if (before == Phase.HELD) {
      giveBack(tokens);
    } else if (before == Phase.WAITING) {
      cancelTimer();
      admission.quit(this);
      state.server().listener().on(new QueueWaitEnded(state.now() - queuedAt, false));
    }
  }

  /** The next waiter may also have to wait for the rate. */
  private void giveBack(long tokens) {
    wakeAfter(admission.leave(request, tokens));
  }

  private void cancelTimer() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }
}
