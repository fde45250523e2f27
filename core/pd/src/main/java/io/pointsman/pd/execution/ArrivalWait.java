package io.pointsman.pd.execution;

import io.netty.util.concurrent.Future;
import io.pointsman.pd.execution.waiting.Notifications;
import io.pointsman.pd.plan.NotificationWait;
import io.pointsman.pd.telemetry.SplitListener.Stage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Wait of one request for the engines' notifications that its blocks have arrived. They may arrive
 * before prefill has answered. The wait has a timeout and may outlive the request. Belongs to the
 * event loop.
 */
final class ArrivalWait {
  private final PdHandler handler;

  /** Null if there is nothing to wait for. */
  private final @Nullable NotificationWait await;

  private Notifications.@Nullable Expected expected;

  /** True if the notifications have arrived or the timeout has expired. */
  private boolean done;

  private long since;
  private @Nullable Runnable next;
  private @Nullable Future<?> timer;

  ArrivalWait(PdHandler handler, @Nullable NotificationWait await) {
    this.handler = handler;
    this.await = await;
  }

  /** Starts to record notifications. */
  void expect() {
    if (await != null) {
      expected =
          handler
              .context()
              .notifications()
              .expect(
                  await.id(),
                  await.notifications(),
                  () -> handler.state().loop().execute(this::goOn));
    }
  }

  /**
   * Runs {@code step} when the notifications have arrived or the timeout has expired. It replaces
   * an earlier step.
   *
   * @param step catches its own exceptions
   */
  void then(Runnable step) {
    if (await == null || done) {
      step.run();
      return;
    }
    boolean waits = next != null;
    next = step;
    if (waits) {
      return;
    }
    since = handler.now();
    long most = await.atMost().toNanos();
    timer = handler.state().loop().schedule(this::goOn, most, TimeUnit.NANOSECONDS);
  }

  private void goOn() {
    done = true;
    Runnable step = next;
    if (step != null) {
      stop();
      handler.context().listener().stage(Stage.NOTIFICATION, handler.now() - since);
      step.run();
    }
  }

  /** Ends the wait. May be called at any time, more than once. */
  void stop() {
    next = null;
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (expected != null) {
      expected.cancel();
      expected = null;
    }
  }
}
