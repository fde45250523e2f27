package io.pointsman.proxy.split;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.disagg.plan.Await;
import io.pointsman.proxy.split.waiting.Notifications;
import io.pointsman.proxy.telemetry.SplitListener.Stage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One request's wait for the engines' word that its blocks have arrived, which may come before
 * prefill has answered. Bounded in time; may outlive the request. Belongs to the event loop.
 */
final class ArrivalWait {
  private final SplitCourse course;

  /** Null if there is nothing to wait for. */
  private final @Nullable Await await;

  private Notifications.@Nullable Expected expected;

  /** Whether they have come, or were waited for long enough. */
  private boolean done;

  private long since;
  private @Nullable Runnable next;
  private @Nullable Future<?> timer;

  ArrivalWait(SplitCourse course, @Nullable Await await) {
    this.course = course;
    this.await = await;
  }

  /** Listens from now on. */
  void expect() {
    if (await != null) {
      expected =
          course
              .plane()
              .notifications()
              .expect(
                  await.id(),
                  await.notifications(),
                  () -> course.state().loop().execute(this::goOn));
    }
  }

  /**
   * Goes on with {@code step} as soon as they have arrived, or it has taken too long; in place of
   * the step that it was to go on with.
   *
   * @param step guarded by itself
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
    since = course.now();
    long most = await.atMost().toNanos();
    timer = course.state().loop().schedule(this::goOn, most, TimeUnit.NANOSECONDS);
  }

  private void goOn() {
    done = true;
    Runnable step = next;
    if (step != null) {
      stop();
      course.plane().listener().stage(Stage.NOTIFICATION, course.now() - since);
      step.run();
    }
  }

  /** Waits no more. May be called at any time, and again. */
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
