package io.pointsman.proxy.split;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.disagg.Placement;
import io.pointsman.engine.disagg.SplitDecision;
import io.pointsman.engine.disagg.SplitRequest;
import io.pointsman.engine.disagg.SplitRule;
import io.pointsman.engine.disagg.plan.BodyEdit;
import io.pointsman.engine.disagg.plan.Leg;
import io.pointsman.engine.disagg.plan.PdEndpoint;
import io.pointsman.engine.disagg.plan.PdPlan;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.SplitFacts;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.course.Course;
import io.pointsman.proxy.course.Served;
import io.pointsman.proxy.exchange.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.retry.RetryPlan;
import io.pointsman.proxy.split.SplitListener.PrefillEnd;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.request.splice.Splice;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The way of one request through a fleet of prefill and decode workers: it is decided whether two
 * workers serve it, a {@link Run} carries their plan out, and what fails is decided anew. Belongs
 * to the client's event loop.
 */
final class SplitCourse implements Course {
  private static final Logger LOG = LoggerFactory.getLogger(SplitCourse.class);

  /** Pairs of workers looked at until one can be planned. */
  private static final int MOST_UNPLANNED = 64;

  private final LoopState state;
  private final SplitPlane plane;
  private final SplitTools tools;
  private final Served served;
  private final SplitRequest request;

  /** Of prefills; those of decode are the exchange's own attempts. */
  private final RetryPlan prefills;

  private final SlotWait slot;
  private byte @Nullable [] body;
  private @Nullable Run run;
  private @Nullable String prefilledBy;
  private SplitRule rule = SplitRule.SPLIT;
  private boolean begun;
  private boolean prefillFailed;

  /** It has failed otherwise than by being busy, and no worker alone has been looked for yet. */
  private boolean prefillBroke;

  private boolean over;
  private int unplanned;

  SplitCourse(
      LoopState state,
      SplitPlane plane,
      SplitTools tools,
      Served served,
      SplitFacts facts,
      byte @Nullable [] body) {
    this.state = state;
    this.plane = plane;
    this.tools = tools;
    this.served = served;
    slot = new SlotWait(state, plane);
    this.body = facts.unsplittable() == null ? body : null;
    var read = served.facts();
    request = new SplitRequest(read.model(), read.prefix(), read.affinity(), facts);
    prefills = new RetryPlan(state.plane().retry(), state.plane().backoff(), state.budget());
  }

  SplitPlane plane() {
    return plane;
  }

  SplitTools tools() {
    return tools;
  }

  Served served() {
    return served;
  }

  LoopState state() {
    return state;
  }

  SplitRequest request() {
    return request;
  }

  long now() {
    return state.now();
  }

  // Deciding.

  @Override
  public void place() {
    Run under = run;
    if (under == null || !under.goOn()) {
      run = null;
      take(plane.router().decide(request));
    }
  }

  private void take(SplitDecision decision) {
    switch (decision) {
      case SplitDecision.Placed(Placement.Single(Lease lease, SplitRule by)) -> whole(lease, by);
      case SplitDecision.Placed(Placement.Split split) -> split(split);
      case SplitDecision.Refused refused -> waitOrRefuse(refused);
    }
  }

  private void whole(Lease lease, SplitRule by) {
    slot.leave();
    run = null;
    prefilledBy = null;
    rule = prefillFailed && by == SplitRule.NO_PREFILL ? SplitRule.PREFILL_FAILED : by;
    plane.listener().decided(rule, request.facts().unsplittable());
    served.attempt(lease, new WholeErrand(begun ? body : null, lines(), this::reached));
  }

  private void split(Placement.Split split) {
    slot.leave();
    PdPlan plan;
    PdRequest asked;
    try {
      asked = asked();
      plan =
          plane
              .protocol()
              .protocol()
              .plan(asked, split.prefill().worker(), split.decode().worker());
    } catch (RuntimeException e) {
      split.prefill().ignored();
      split.decode().ignored();
      throw e;
    }
    switch (plan) {
      case PdPlan.Unplanned(Worker worker, String missing) -> unplanned(split, worker, missing);
      case PdPlan.Sequential sequential ->
          begin(split, new SequentialRun(this, split, asked, sequential));
      case PdPlan.Concurrent concurrent ->
          begin(split, new ConcurrentRun(this, split, asked, concurrent));
    }
  }

  private void begin(Placement.Split split, Run next) {
    begun = true;
    rule = SplitRule.SPLIT;
    prefilledBy = split.prefill().worker().id();
    run = next;
    plane.listener().decided(rule, null);
    prefills.attempted();
    next.begin();
  }

  private PdRequest asked() {
    SplitFacts facts = request.facts();
    PdEndpoint endpoint = facts.endpoint();
    if (endpoint == null) {
      throw new IllegalStateException("split without an endpoint that can be");
    }
    return new PdRequest(
        endpoint, served.head().uri(), served.requestId(), nonce(), conversation(), facts);
  }

  private @Nullable String conversation() {
    String session = served.head().first(plane.sessionHeader());
    return session == null || session.isBlank() ? null : session;
  }

  private String nonce() {
    StringBuilder hex = new StringBuilder(32);
    while (hex.length() < 32) {
      hex.append("%04x".formatted(plane.dice().roll(1 << 16)));
    }
    return hex.toString();
  }

  /** Something is not known of a worker: another pair may do. */
  private void unplanned(Placement.Split split, Worker worker, String missing) {
    LOG.debug("{} has no part in a hand-over: {} is not known", worker, missing);
    plane.listener().prefill(PrefillEnd.UNPLANNED);
    boolean prefill = worker == split.prefill().worker();
    split.prefill().ignored();
    split.decode().ignored();
    (prefill ? request.prefill() : request.decode()).exclude(worker);
    if (++unplanned < MOST_UNPLANNED) {
      take(plane.router().decide(request));
    } else {
      served.refuse(new Decision.Rejected(RejectReason.NONE_AVAILABLE, 0));
    }
  }

  // Waiting for a place.

  /**
   * Waits while all workers are at their limits, as far as that is allowed and one of them may
   * still be asked.
   */
  void waitOrRefuse(SplitDecision.Refused refused) {
    boolean busy = refused.rejection().reason() == RejectReason.ALL_BUSY;
    if (busy && someUntried(refused.missing()) && slot.lookLater(() -> guarded(this::place))) {
      return;
    }
    slot.leave();
    if (prefillBroke && refused.missing() == Role.PREFILL) {
      prefillBroke = false;
      take(plane.router().withoutPrefill(request));
    } else if (prefillFailed) {
      giveUpPrefill();
    } else {
      plane.router().refused(request, refused);
      served.refuse(refused.rejection());
    }
  }

  /** Whether there is a worker that has had no attempt of this request: others get no other. */
  private boolean someUntried(Role role) {
    Pool pool = plane.engine().pool(role, request.model());
    RoutingRequest asked =
        switch (role) {
          case REGULAR -> request.whole();
          case PREFILL -> request.prefill();
          case DECODE -> request.decode();
        };
    return pool != null
        && pool.workers().stream().anyMatch(worker -> !asked.tried().contains(worker));
  }

  /** Runs what an event loop calls outside of the exchange: a defect must not be lost there. */
  void guarded(Runnable step) {
    if (over) {
      return;
    }
    try {
      step.run();
    } catch (RuntimeException e) {
      served.defect(e);
    }
  }

  // Sending.

  /** The client's body with {@code edits}. */
  byte[] edited(List<BodyEdit> edits) {
    return edited(body(), edits);
  }

  private byte[] edited(byte[] original, List<BodyEdit> edits) {
    Splice splice = tools.editor().edit(original, 0, original.length, edits);
    if (splice == null) {
      throw new IllegalStateException("a body that was read cannot be edited");
    }
    return splice.toBytes(original, 0);
  }

  /** The client has got a part of its answer: nothing is sent again. */
  void reached() {
    body = null;
    if (run != null) {
      run.reached();
    }
  }

  /** The client's body, which is there until a part of the answer has reached the client. */
  byte[] body() {
    byte[] kept = body;
    if (kept == null) {
      throw new IllegalStateException("no body is kept");
    }
    return kept;
  }

  /**
   * A request to a worker whose answer is read here.
   *
   * @param original the client's body
   * @param edits what is changed in it
   */
  SideLeg side(
      byte[] original,
      Leg leg,
      List<BodyEdit> edits,
      Lease lease,
      Duration timeout,
      SideLeg.Owner owner) {
    byte[] changed = edited(original, edits);
    ByteBuf head = state.allocator().buffer(served.head().length() + 512);
    state
        .pools()
        .to(lease.worker())
        .heads()
        .write(
            head,
            served.head(),
            served.requestId(),
            changed.length,
            served.traceContext(),
            new HeadChanges(leg.headers(), true, true));
    byte[] bytes = ByteBufUtil.getBytes(head);
    head.release();
    SideLeg.Message message =
        new SideLeg.Message(bytes, changed, timeout, plane.stages().maxReplyBytes());
    return new SideLeg(state, lease, message, owner);
  }

  /** Header lines for the client's answer. */
  String lines() {
    if (!plane.told()) {
      return "";
    }
    String by = prefilledBy == null ? "" : "x-pointsman-prefill-worker: " + prefilledBy + "\r\n";
    return "x-pointsman-split: " + name(rule) + "\r\n" + by;
  }

  private static String name(SplitRule rule) {
    return rule.name().toLowerCase(Locale.ROOT);
  }

  // After a failed prefill.

  /**
   * Settles the lease of a prefill that was refused.
   *
   * @return why another worker is to be tried; null if the error is the client's
   */
  @Nullable RetryReason settle(SideLeg leg, HeldAnswer error) {
    Lease lease = leg.lease();
    if (error.busy()) {
      lease.worker().rest(error.restNanos());
      lease.ignored();
      plane.listener().prefill(PrefillEnd.BUSY);
      return RetryReason.BUSY;
    }
    if (error.workersFault()) {
      lease.failed(Failure.ERROR);
      plane.listener().prefill(PrefillEnd.ERROR);
      return RetryReason.STATUS;
    }
    lease.refused();
    plane.listener().prefill(PrefillEnd.CLIENT_ERROR);
    return null;
  }

  /** Keeps the error of a prefill, to be told if nothing else helps. */
  void keep(HeldAnswer error) {
    prefills.hold(error);
  }

  /** Notes that a prefill ended without an answer. */
  void noAnswer(RetryReason reason, ProxyError error) {
    prefills.failed(error);
    plane.listener().prefill(reason == RetryReason.TIMEOUT ? PrefillEnd.TIMEOUT : PrefillEnd.ERROR);
  }

  /** Goes on after a failed prefill whose decode worker still waits. */
  void prefillAgain(Placement.Split split, RetryReason reason) {
    run = null;
    if (another(reason)) {
      take(plane.router().prefillAgain(request, split));
    } else {
      split.decode().ignored();
      take(plane.router().withoutPrefill(request));
    }
  }

  /** Goes on after a failed prefill whose decode request was taken back. */
  void bothAgain(Worker failed, RetryReason reason) {
    run = null;
    if (another(reason)) {
      request.prefill().exclude(failed);
      take(plane.router().decide(request));
    } else {
      take(plane.router().withoutPrefill(request));
    }
  }

  private boolean another(RetryReason reason) {
    prefillFailed = true;
    prefillBroke |= reason != RetryReason.BUSY;
    boolean again = prefills.another(reason, now());
    if (again) {
      served.retried(reason);
    }
    return again;
  }

  private void giveUpPrefill() {
    HeldAnswer held = prefills.takeHeld();
    ProxyError error = prefills.lastError();
    if (held != null) {
      served.pass(held, held.busy() ? Math.max(1, prefills.shortestRestSeconds(0)) : 0);
    } else if (error != null) {
      served.reply(error, Reply.of(error, error.message()).retryAfter(0));
    } else {
      served.giveUp();
    }
  }

  // Ending.

  @Override
  public void failed(Worker failed) {
    Run under = run;
    if (under == null) {
      request.whole().exclude(failed);
      request.wholeByPrefill().exclude(failed);
      request.decode().exclude(failed);
    } else {
      under.decodeFailed(failed);
    }
  }

  @Override
  public void over(boolean answered) {
    if (over) {
      return;
    }
    over = true;
    slot.leave();
    Run under = run;
    run = null;
    try {
      if (under != null) {
        under.over(answered);
      }
    } finally {
      prefills.release();
      body = null;
    }
  }
}
