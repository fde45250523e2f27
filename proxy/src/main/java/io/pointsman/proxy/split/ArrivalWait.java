package io.pointsman.proxy.split;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.disagg.plan.Await;
import io.pointsman.proxy.split.SplitListener.Stage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One request's wait for the engines' word that its blocks have arrived, which may come before
 * prefill has answered. Bounded in time. Belongs to the event loop.
 */
final class ArrivalWait {
  private final SplitCourse course;

  /** Null if there is nothing to wait for. */
  private final @Nullable Await await;

  private Notifications.@Nullable Expected expected;
  private boolean allCame;
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
                  () -> course.state().loop().execute(() -> course.guarded(this::allHaveCome)));
    }
  }

  /** Goes on with {@code step} as soon as they have arrived, or it has taken too long. */
  void then(Runnable step) {
    if (await == null || allCame) {
      step.run();
      return;
    }
    next = step;
    since = course.now();
    long most = await.atMost().toNanos();
    timer =
        course
            .state()
            .loop()
            .schedule(() -> course.guarded(this::goOn), most, TimeUnit.NANOSECONDS);
  }

  private void allHaveCome() {
    allCame = true;
    goOn();
  }

  private void goOn() {
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
