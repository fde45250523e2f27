package io.pointsman.proxy.split;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.disagg.Placement;
import io.pointsman.engine.disagg.SplitDecision;
import io.pointsman.engine.disagg.SplitRule;
import io.pointsman.engine.disagg.plan.Await;
import io.pointsman.engine.disagg.plan.Continuation;
import io.pointsman.engine.disagg.plan.FirstToken;
import io.pointsman.engine.disagg.plan.Leg;
import io.pointsman.engine.disagg.plan.PdPlan;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.PrefillReply;
import io.pointsman.engine.disagg.plan.Terms;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.split.SplitListener.HandoverEnd;
import io.pointsman.proxy.split.SplitListener.PrefillEnd;
import io.pointsman.proxy.split.SplitListener.Stage;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.splice.ReplyReader;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Prefill first, then, with what that has answered, decode. Until its request is sent the decode
 * lease is held here; what prefill holds for it is freed on every way out. Belongs to the event
 * loop.
 */
final class SequentialRun implements Run, SideLeg.Owner {
  private final SplitCourse course;
  private final SplitPlane plane;
  private final Placement.Split split;
  private final PdRequest request;
  private final PdPlan.Sequential plan;
  private @Nullable SideLeg prefill;
  private @Nullable PrefillReply reply;
  private long repliedAt;
  private Notifications.@Nullable Expected expected;
  private boolean notified;
  private @Nullable Future<?> timer;
  private @Nullable DecodeErrand errand;
  private @Nullable Worker failed;

  SequentialRun(
      SplitCourse course, Placement.Split split, PdRequest request, PdPlan.Sequential plan) {
    this.course = course;
    this.split = split;
    this.request = request;
    this.plan = plan;
    plane = course.plane();
  }

  // Prefill.

  @Override
  public void begin() {
    SideLeg leg =
        course.side(
            course.body(),
            plan.prefill(),
            plan.prefill().edits(),
            split.prefill(),
            plane.stages().prefill(),
            this);
    Await await = plan.await();
    if (await != null) {
      expected =
          plane
              .notifications()
              .expect(
                  await.id(),
                  await.notifications(),
                  () -> course.state().loop().execute(() -> course.guarded(this::allNotified)));
    }
    prefill = leg;
    leg.start();
  }

  @Override
  public void answered(SideLeg leg, byte[] body) {
    switch (course.tools().replies().read(body, 0, body.length)) {
      case ReplyReader.Result.Unreadable _ -> {
        leg.lease().failed(Failure.ERROR);
        failed(leg, RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
      }
      case ReplyReader.Result.Read(PrefillReply read) -> {
        leg.lease().succeeded();
        plane.listener().prefill(PrefillEnd.DONE);
        plane.listener().stage(Stage.PREFILL, leg.nanos());
        reply = read;
        repliedAt = course.now();
        course.guarded(() -> replied(leg.lease().worker(), read));
      }
    }
  }

  private void replied(Worker by, PrefillReply read) {
    plane.protocol().listeners().forEach(listener -> listener.prefilled(by, read));
    Await await = plan.await();
    if (await == null || notified) {
      decode(split.decode(), read);
    } else {
      long most = await.atMost().toNanos();
      timer = course.state().loop().schedule(this::lastWait, most, TimeUnit.NANOSECONDS);
    }
  }

  @Override
  public void refused(SideLeg leg, HeldAnswer error) {
    stopWaiting();
    RetryReason reason = course.settle(leg, error);
    course.guarded(
        () -> {
          if (reason == null) {
            split.decode().ignored();
            course.served().pass(error, 0);
          } else {
            course.keep(error);
            course.prefillAgain(split, reason);
          }
        });
  }

  @Override
  public void failed(SideLeg leg, RetryReason reason, ProxyError error) {
    stopWaiting();
    course.noAnswer(reason, error);
    course.guarded(() -> course.prefillAgain(split, reason));
  }

  // Waiting for notifications.

  private void allNotified() {
    notified = true;
    PrefillReply read = reply;
    if (read != null && timer != null) {
      endWait(read);
    }
  }

  private void lastWait() {
    PrefillReply read = reply;
    if (read != null && timer != null) {
      course.guarded(() -> endWait(read));
    }
  }

  private void endWait(PrefillReply read) {
    stopWaiting();
    plane.listener().stage(Stage.NOTIFICATION, course.now() - repliedAt);
    decode(split.decode(), read);
  }

  private void stopWaiting() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (expected != null) {
      expected.cancel();
      expected = null;
    }
  }

  // Decode.

  private void decode(Lease lease, PrefillReply read) {
    switch (continuation(lease, read)) {
      case Continuation.Complete _ -> {
        lease.ignored();
        errand = null;
        reply = null;
        plane.listener().handover(HandoverEnd.COMPLETE);
        course.served().answer(CompleteAnswer.of(course.tools(), read, request.facts().stream()));
      }
      case Continuation.Decode(Leg leg, @Nullable FirstToken first) -> {
        if (nothingHeld(read)) {
          plane.listener().handover(HandoverEnd.EMPTY);
        }
        attempt(lease, leg, first, read);
      }
    }
  }

  private Continuation continuation(Lease lease, PrefillReply read) {
    try {
      return plan.handover().to(lease.worker(), read);
    } catch (RuntimeException e) {
      lease.ignored();
      throw e;
    }
  }

  private void attempt(Lease lease, Leg leg, @Nullable FirstToken first, PrefillReply read) {
    long cached = read.cachedTokens();
    DecodeErrand next;
    try {
      next =
          new DecodeErrand(
              course,
              request,
              leg,
              course.edited(leg.edits()),
              new DecodeErrand.Expected(first, () -> cached, cached >= 0, false));
    } catch (RuntimeException e) {
      lease.ignored();
      throw e;
    }
    errand = next;
    course.served().attempt(lease, next);
  }

  /** The protocol asks for a description of what is held, and the answer has none. */
  private boolean nothingHeld(PrefillReply read) {
    boolean asked =
        plan.prefill().edits().stream()
            .anyMatch(edit -> edit.path().getFirst().equals(ReplyReader.KV_TRANSFER_PARAMS));
    return asked && read.kvTransferParams() == null;
  }

  @Override
  public void decodeFailed(Worker worker) {
    failed = worker;
  }

  @Override
  public boolean goOn() {
    PrefillReply read = reply;
    Worker last = failed;
    if (read == null || last == null) {
      return false;
    }
    if (!mayRetake()) {
      course.request().decode().exclude(last);
      recompute(read);
      return false;
    }
    switch (plane.router().decodeAgain(course.request(), last)) {
      case SplitDecision.Placed(Placement.Single(Lease lease, SplitRule _)) -> decode(lease, read);
      case SplitDecision.Placed(Placement.Split other) ->
          throw new IllegalStateException("two workers for one part: " + other);
      case SplitDecision.Refused refused -> {
        if (refused.rejection().reason() != RejectReason.ALL_BUSY) {
          recompute(read);
          return false;
        }
        course.waitOrRefuse(refused);
      }
    }
    return true;
  }

  /**
   * Whether another decode worker may take the same hand-over. One that was too busy has told
   * prefill that it does not come, and what it held is gone.
   */
  private boolean mayRetake() {
    boolean told = errand != null && errand.busy();
    return plan.terms().bond() == Terms.Bond.ANY_DECODE && leased() && !told;
  }

  /** Whether prefill still holds what it has computed, if nobody has fetched it. */
  private boolean leased() {
    return course.now() - repliedAt < plan.terms().lease().toNanos();
  }

  /** The hand-over is given up: the request is decided anew. */
  private void recompute(PrefillReply read) {
    plane.listener().handover(HandoverEnd.RECOMPUTED);
    DecodeErrand last = errand;
    if (last != null && !last.arrives()) {
      releaseAnywhere(read);
    }
  }

  // Ending.

  @Override
  public void reached() {
    DecodeErrand answering = errand;
    if (answering != null) {
      reply = null;
      tellTaken(answering);
    }
  }

  @Override
  public void over(boolean answered) {
    stopWaiting();
    SideLeg leg = prefill;
    PrefillReply read = reply;
    DecodeErrand sent = errand;
    if (leg == null) {
      split.prefill().ignored();
      split.decode().ignored();
    } else if (!leg.over()) {
      endPrefill(leg);
    } else if (read != null && sent == null) {
      releaseUnsent(read);
    } else if (read != null) {
      endDecode(sent, read);
    }
  }

  /** The decode request was not sent, or could not even be made. */
  private void releaseUnsent(PrefillReply read) {
    if (split.decode().settled()) {
      plane.listener().handover(HandoverEnd.LEFT);
    } else {
      release(split.decode(), read, course.body());
    }
  }

  /** Nobody waits for the prefill any more. */
  private void endPrefill(SideLeg leg) {
    if (leg.answering() && plan.terms().release() == Terms.Release.SEND_DECODE) {
      leg.detach(new Releasing(this, course));
      return;
    }
    leg.abort();
    split.decode().ignored();
    plane.listener().prefill(PrefillEnd.ABORTED);
  }

  /** The decode request was sent, or would have been; its lease is settled. */
  private void endDecode(@Nullable DecodeErrand last, PrefillReply read) {
    if (last == null) {
      return;
    }
    if (last.status() > 0 || last.arrives()) {
      tellTaken(last);
    } else {
      releaseAnywhere(read);
    }
  }

  private void tellTaken(DecodeErrand last) {
    boolean good = last.status() > 0 && last.status() < 400;
    HandoverEnd end = failed == null ? HandoverEnd.TAKEN : HandoverEnd.RETAKEN;
    plane.listener().handover(good ? end : HandoverEnd.RELEASED);
  }

  /** Has a decode worker free what prefill holds: any, or the one that it was made out to. */
  private void releaseAnywhere(PrefillReply read) {
    RoutingRequest anew =
        RoutingRequest.builder()
            .model(course.request().model())
            .role(Role.DECODE)
            .prefix(course.request().decode().prefix())
            .build();
    Lease lease = leased() ? place(anew) : null;
    if (lease == null) {
      plane.listener().handover(HandoverEnd.LEFT);
    } else {
      release(lease, read, course.body());
    }
  }

  private @Nullable Lease place(RoutingRequest anew) {
    return switch (plan.terms().bond()) {
      case ANY_DECODE ->
          plane.engine().attempt(anew) instanceof Decision.Routed(Lease lease) ? lease : null;
      case THIS_DECODE -> plane.engine().place(anew, split.decode().worker());
    };
  }

  /** Has the decode worker of {@code lease} free what prefill holds; the lease is taken over. */
  void release(Lease lease, PrefillReply read, byte[] body) {
    try {
      Terms terms = plan.terms();
      boolean held = terms.release() == Terms.Release.SEND_DECODE && !nothingHeld(read);
      if (held
          && plan.handover().to(lease.worker(), read)
              instanceof Continuation.Decode(Leg leg, @Nullable FirstToken _)) {
        Releasing.send(course, body, leg, terms, lease);
        plane.listener().handover(HandoverEnd.RELEASED);
      } else {
        lease.ignored();
      }
    } catch (RuntimeException e) {
      if (!lease.settled()) {
        lease.ignored();
      }
      throw e;
    }
  }

  /** The decode lease, for whoever goes on without the client. */
  Lease decodeLease() {
    return split.decode();
  }
}
