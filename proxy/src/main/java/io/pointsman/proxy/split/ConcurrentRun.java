package io.pointsman.proxy.split;

import io.pointsman.engine.disagg.Placement;
import io.pointsman.engine.disagg.plan.PdPlan;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.PrefillReply;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.split.SplitListener.HandoverEnd;
import io.pointsman.proxy.split.SplitListener.PrefillEnd;
import io.pointsman.proxy.split.SplitListener.Stage;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.splice.ReplyReader;
import org.jspecify.annotations.Nullable;

/**
 * Both requests at once: the client gets the answer to decode's, that to prefill's is read to its
 * end. When one of them fails, the other is cancelled at once, because it waits for the first.
 * Belongs to the event loop.
 */
final class ConcurrentRun implements Run, SideLeg.Owner {
  private static final long NOT_KNOWN = -1;

  private final SplitCourse course;
  private final Placement.Split split;
  private final PdRequest request;
  private final PdPlan.Concurrent plan;
  private @Nullable SideLeg prefill;

  /** Whether the decode lease is the attempt's. */
  private boolean decodeSent;

  private long cached = NOT_KNOWN;

  ConcurrentRun(
      SplitCourse course, Placement.Split split, PdRequest request, PdPlan.Concurrent plan) {
    this.course = course;
    this.split = split;
    this.request = request;
    this.plan = plan;
  }

  @Override
  public void begin() {
    SideLeg leg =
        course
            .legs()
            .side(
                course.body(),
                plan.prefill(),
                plan.prefill().edits(),
                split.prefill(),
                course.plane().stages().prefill(),
                this);
    DecodeErrand errand =
        new DecodeErrand(
            course,
            request,
            plan.decode(),
            course.legs().edited(course.body(), plan.decode().edits()),
            new DecodeErrand.Expected(null, () -> cached, true));
    prefill = leg;
    leg.start();
    if (!leg.over()) {
      decodeSent = true;
      course.served().attempt(split.decode(), errand);
    }
  }

  @Override
  public void answered(SideLeg leg, byte[] body) {
    leg.lease().succeeded();
    course.prefills().succeeded();
    course.plane().listener().prefill(PrefillEnd.DONE);
    course.plane().listener().stage(Stage.PREFILL, leg.nanos());
    if (course.tools().replies().read(body, 0, body.length)
        instanceof ReplyReader.Result.Read(PrefillReply reply)) {
      cached = reply.cachedTokens();
      course
          .plane()
          .protocol()
          .listeners()
          .forEach(listener -> listener.prefilled(leg.lease().worker(), reply));
    } else {
      cached = EventUsage.cached(course.tools().replies(), body);
    }
  }

  @Override
  public void refused(SideLeg leg, HeldAnswer error) {
    RetryReason reason = course.prefills().settle(leg, error);
    course.guarded(
        () -> {
          if (!withdraw()) {
            error.release();
          } else if (reason == null) {
            course.served().pass(error, 0);
          } else {
            course.prefills().keep(error);
            course.bothAgain(leg.lease().worker(), reason);
          }
        });
  }

  @Override
  public void failed(SideLeg leg, RetryReason reason, ProxyError error) {
    course.prefills().noAnswer(reason, error);
    course.guarded(
        () -> {
          if (withdraw()) {
            course.bothAgain(leg.lease().worker(), reason);
          }
        });
  }

  /**
   * Takes the decode request back, which may not have been sent yet.
   *
   * @return false if a part of its answer has reached the client: the hand-over was done by then,
   *     so it goes on without prefill
   */
  private boolean withdraw() {
    settleUnsentDecode();
    return course.served().withdraw();
  }

  private void settleUnsentDecode() {
    if (!decodeSent) {
      decodeSent = true;
      split.decode().ignored();
    }
  }

  @Override
  public void decodeFailed(Worker failed) {
    cancelPrefill();
    course.plane().listener().handover(HandoverEnd.RECOMPUTED);
    course.request().decode().exclude(failed);
  }

  private void cancelPrefill() {
    SideLeg leg = prefill;
    if (leg != null && !leg.over()) {
      leg.abort();
      course.plane().listener().prefill(PrefillEnd.ABORTED);
    }
  }

  @Override
  public boolean goOn() {
    return false;
  }

  @Override
  public void reached() {}

  @Override
  public void over(boolean answered) {
    settleUnsentDecode();
    if (prefill == null) {
      split.prefill().ignored();
      return;
    }
    if (!answered) {
      cancelPrefill();
      return;
    }
    course.plane().listener().handover(HandoverEnd.TAKEN);
    SideLeg leg = prefill;
    if (leg != null && !leg.over()) {
      leg.detach(new Settling(course.plane().listener()));
    }
  }
}
