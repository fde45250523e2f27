package io.pointsman.pd.execution;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.deferral.WorkerWaits;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.execution.answer.SplitTools;
import io.pointsman.pd.execution.step.PrefillRequest;
import io.pointsman.pd.execution.step.PrefillRetries;
import io.pointsman.pd.execution.waiting.SlotQueues.SlotKey;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.plan.Unsplittable;
import io.pointsman.pd.rule.Placement;
import io.pointsman.pd.rule.SplitDecision;
import io.pointsman.pd.rule.SplitRequest;
import io.pointsman.pd.rule.SplitRouter;
import io.pointsman.pd.rule.SplitRule;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;
import io.pointsman.proxy.admission.WorkerWait;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.Candidates;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.Ending;
import io.pointsman.proxy.handler.PassedRouters;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.ServedAnswer;
import io.pointsman.proxy.handler.Waits;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.telemetry.RetryReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handler of one request to a fleet of prefill and decode workers. It decides if two workers serve
 * the request, and lets a {@link PdExecution} execute their plan. After a failure it decides again.
 * It is one class because its steps share the state of one request. Belongs to the client's event
 * loop.
 */
final class PdHandler implements RequestHandler, Candidates, Waits {
  private static final Logger LOG = LoggerFactory.getLogger(PdHandler.class);

  /** Maximum number of pairs of workers to try to plan. */
  private static final int MOST_UNPLANNED = 64;

  private final LoopState state;
  private final PdContext context;
  private final SplitTools tools;
  private final ClientExchange served;
  private final SplitRequest request;

  /** Workers that are routers which the request has passed. */
  private final List<Worker> passed;

  private final PdStepWriter stepWriter;
  private final SingleWorkerRequests wholes;
  private final PrefillRetries prefills;
  private final SlotWait waiting;
  private final WorkerWait absence;

  /** True after the first attempt on a worker. */
  private boolean attempted;

  private @Nullable KeptBody body;
  private boolean holdsBody;

  /** Releases that wait for a worker that survives the request. */
  private final List<KvReleaser> releases = new ArrayList<>();

  private @Nullable PdExecution run;
  private @Nullable String prefilledBy;
  private SplitRule rule = SplitRule.SPLIT;
  private boolean begun;

  /** True if {@link #rule} was not reported yet. */
  private boolean decided;

  /** Lease of a decode worker that waits for the next prefill. */
  private @Nullable Lease keptDecode;

  private @Nullable Future<?> timer;
  private boolean over;
  private int unplanned;

  PdHandler(
      LoopState state,
      PdContext context,
      SplitTools tools,
      ClientExchange served,
      SplitFacts facts,
      @Nullable KeptBody body) {
    this.state = state;
    this.context = context;
    this.tools = tools;
    this.served = served;
    this.body = facts.unsplittable() == null ? body : null;
    var read = served.request().facts();
    request = new SplitRequest(read.model(), read.prefix(), read.affinity(), facts, read.fields());
    request.named(served.request().id());
    passed = PassedRouters.of(served.request().head(), state.server().engine().fleet());
    passed.forEach(request::exclude);
    if (SingleWorkerRequests.hidden(read)) {
      request.onlyForRegular();
    }
    stepWriter = new PdStepWriter(state, context, tools, served);
    wholes = new SingleWorkerRequests(state, context, tools);
    served.request().faults().countsEach();
    prefills = new PrefillRetries(state, context.listener(), served);
    waiting = new SlotWait(state, context, this::lookAgain);
    absence =
        new WorkerWait(
            state.loop(),
            state.server().live().deferral().withoutWorker(),
            state.server().listener(),
            state.server().ticker(),
            read.model());
  }

  PdContext context() {
    return context;
  }

  SplitTools tools() {
    return tools;
  }

  ClientExchange served() {
    return served;
  }

  LoopState state() {
    return state;
  }

  SplitRequest request() {
    return request;
  }

  PdStepWriter stepWriter() {
    return stepWriter;
  }

  PrefillRetries prefills() {
    return prefills;
  }

  long now() {
    return state.now();
  }

  // Decides.

  @Override
  public void place() {
    holdBody();
    PdExecution under = run;
    if (under != null && under.goOn()) {
      return;
    }
    run = null;
    if (under == null || prefills.anew()) {
      decide();
    } else {
      take(context.router().withoutPrefill(request));
    }
  }

  private void decide() {
    if (prefills.spent()) {
      take(context.router().withoutPrefill(request));
    } else {
      take(context.router().decideBehind(request, waiting.before(queueOwner())));
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
    leaveQueue();
    attempted = true;
    run = null;
    prefilledBy = null;
    rule = prefills.failed() && by == SplitRule.NO_PREFILL ? SplitRule.PREFILL_FAILED : by;
    decided = true;
    wholes.send(served, lease, lines(), this::reached);
  }

  private void split(Placement.Split split) {
    leaveQueue();
    PdPlan plan;
    PdRequest asked;
    try {
      asked = PdRequests.of(served, request.facts(), context);
      plan =
          context
              .protocol()
              .protocol()
              .plan(asked, split.prefill().worker(), split.decode().worker());
    } catch (RuntimeException | Error e) {
      split.prefill().ignored();
      split.decode().ignored();
      throw e;
    }
    switch (plan) {
      case PdPlan.Unplanned(Worker worker, String missing) -> unplanned(split, worker, missing);
      case PdPlan.Sequential sequential ->
          begin(split, new SequentialExecution(this, split, asked, sequential));
      case PdPlan.Concurrent concurrent ->
          begin(split, new ConcurrentExecution(this, split, asked, concurrent));
    }
  }

  private void begin(Placement.Split split, PdExecution next) {
    begun = true;
    rule = SplitRule.SPLIT;
    prefilledBy = split.prefill().worker().id();
    run = next;
    decided = true;
    prefills.attempted();
    next.begin();
  }

  /** Handles a worker with unknown properties. Another pair may have a plan. */
  private void unplanned(Placement.Split split, Worker worker, String missing) {
    LOG.debug("{} cannot take part in a transfer: {} is unknown", worker, missing);
    context.listener().prefill(PrefillEnd.UNPLANNED);
    split.prefill().ignored();
    split.decode().ignored();
    if (worker == split.prefill().worker()) {
      request.prefill().exclude(worker);
    } else {
      request.unplannable(worker);
    }
    if (++unplanned < MOST_UNPLANNED) {
      decide();
    } else {
      served.end(new Ending.NoWorker(new Decision.Rejected(RejectReason.NONE_AVAILABLE, 0)));
    }
  }

  // Waits for a free slot.

  /**
   * Waits while all workers are at their limits, within the timeout, if at least one of them is
   * untried. Otherwise refuses the request.
   */
  void waitOrRefuse(SplitDecision.Refused refused) {
    boolean full = refused.rejection().reason() == RejectReason.ALL_BUSY;
    if (full
        && context.router().someUntried(request, refused.missing())
        && waiting.begin(
            new SlotKey(queueOwner(), refused.missing()), refused.rejection().retryAfterNanos())) {
      return;
    }
    if (awaitWorker(refused)) {
      return;
    }
    leaveQueue();
    if (refused.missing() == Role.PREFILL && prefills.takeBroke()) {
      take(context.router().withoutPrefill(request));
    } else if (prefills.failed()) {
      giveUp(refused.rejection());
    } else if (onlyPassed(refused)) {
      var loop = new Decision.Rejected(RejectReason.ALL_TRIED, 0);
      context.router().refused(request, new SplitDecision.Refused(refused.missing(), loop));
      served.end(new Ending.NoWorker(loop));
    } else {
      context.router().refused(request, refused);
      String missing = missing(refused);
      if (missing.isEmpty() || begun || attempted) {
        refuse(refused.rejection());
      } else {
        ProxyError error = Rejections.error(refused.rejection().reason());
        served.end(
            new Ending.RouterError(
                error, Reply.of(error, missing).retryAfter(refused.rejection().retryAfterNanos())));
      }
    }
  }

  /** True if no worker has seen the request, and one that it has passed could serve it. */
  private boolean onlyPassed(SplitDecision.Refused refused) {
    return !begun
        && !attempted
        && absent(refused.rejection().reason())
        && context.router().someServe(request, refused.missing(), passed);
  }

  private static boolean absent(RejectReason reason) {
    return reason == RejectReason.NO_WORKERS || reason == RejectReason.NONE_AVAILABLE;
  }

  /** Waits while no worker is available, if no worker has seen the request. */
  private boolean awaitWorker(SplitDecision.Refused refused) {
    if (begun
        || attempted
        || prefills.failed()
        || !WorkerWaits.useful(refused.rejection().reason())) {
      return false;
    }
    request.awaits();
    return absence.begin(
        () -> context.router().someUntried(request, refused.missing()), this::lookAgain);
  }

  /** The role that has no available worker, with its labels; empty if that is not the reason. */
  private String missing(SplitDecision.Refused refused) {
    if (!absent(refused.rejection().reason()) || refused.missing() == Role.REGULAR) {
      return "";
    }
    String labels = context.labels().apply(refused.missing());
    return "no "
        + refused.missing().name().toLowerCase(Locale.ROOT)
        + " worker is available"
        + (labels.isEmpty() ? "" : " (labels: " + labels + ")");
  }

  private void refuse(Decision.Rejected rejected) {
    Unsplittable why = request.facts().unsplittable();
    if (rejected.reason() != RejectReason.UNSPLITTABLE || why == null) {
      served.end(new Ending.NoWorker(rejected));
    } else if (SingleWorkerRequests.hidden(served.request().facts())) {
      SingleWorkerRequests.refuse(served);
    } else {
      served.end(
          new Ending.RouterError(ProxyError.UNSPLITTABLE, SingleWorkerRequests.unsplittable(why)));
    }
  }

  /**
   * Key of the queue. Requests for the same model wait for the same workers. A request that was
   * tried before has waited its turn and may need other workers than the rest, so it has its own
   * queue.
   */
  private Object queueOwner() {
    String model = request.model();
    return begun ? this : model == null ? "" : model;
  }

  void leaveQueue() {
    absence.end();
    waiting.end();
  }

  private void lookAgain() {
    guarded(this::place);
  }

  /**
   * Runs a step that the event loop calls outside the exchange. Exceptions end the request, because
   * the loop would only log them.
   */
  void guarded(Runnable step) {
    if (over) {
      return;
    }
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      served.end(new Ending.Defect(e));
    }
  }

  // Sends.

  /**
   * Starts a release. If a worker failed after the request, it waits until another one answers,
   * because a release has the same prompt and may end further workers.
   */
  void release(KvReleaser releaser) {
    if (served.request().faults().suspect() && !over) {
      releases.add(releaser);
    } else {
      releaser.begin();
    }
  }

  private void release() {
    List<KvReleaser> waiting = List.copyOf(releases);
    releases.clear();
    for (KvReleaser each : waiting) {
      if (served.request().faults().mayGoOn()) {
        each.begin();
      } else {
        each.leave();
      }
    }
  }

  /** Reports that the client has received a part of its answer. The request is not sent again. */
  void reached() {
    reportDecision();
    release();
    if (run != null) {
      run.reached();
    }
    letBodyGo();
  }

  private void reportDecision() {
    if (decided) {
      decided = false;
      context.listener().decided(rule, request.facts().unsplittable());
    }
  }

  /**
   * Retains the body. The release of prefill's blocks needs it after the exchange has released it.
   */
  private void holdBody() {
    if (body != null && !holdsBody) {
      body.retain();
      holdsBody = true;
    }
  }

  private void letBodyGo() {
    KeptBody last = body;
    body = null;
    if (last != null && holdsBody) {
      last.release();
    }
  }

  /** The client's body, available until a part of the answer has reached the client. */
  KeptBody body() {
    KeptBody kept = body;
    if (kept == null) {
      throw new IllegalStateException("no body is kept");
    }
    return kept;
  }

  /** Header lines for the client's answer. */
  String lines() {
    if (!context.namesWorkers().getAsBoolean()) {
      return "";
    }
    String by = prefilledBy == null ? "" : "x-pointsman-prefill-worker: " + prefilledBy + "\r\n";
    return "x-pointsman-split: " + name(rule) + "\r\n" + by;
  }

  /** A successful answer of the router, with the same headers. */
  Reply withHeaders(Reply answer) {
    if (!context.namesWorkers().getAsBoolean()) {
      return answer;
    }
    Reply ruled = answer.with("x-pointsman-split", name(rule));
    return prefilledBy == null ? ruled : ruled.with("x-pointsman-prefill-worker", prefilledBy);
  }

  private static String name(SplitRule rule) {
    return rule.name().toLowerCase(Locale.ROOT);
  }

  // Continues after a failed prefill.

  /**
   * Continues after a failed prefill; its decode request is unsent and its decode lease is kept.
   */
  void prefillAgain(Placement.Split split, RetryReason reason) {
    run = null;
    exclude(split.prefill().worker(), reason);
    if (prefills.another(reason)) {
      Lease decode = split.decode();
      keptDecode = decode;
      after(
          prefills.waitNanos(reason),
          () -> {
            keptDecode = null;
            take(context.router().prefillAgain(request, decode));
          });
    } else {
      split.decode().ignored();
      withoutPrefill(reason);
    }
  }

  /** Continues after a failed prefill; its decode request was cancelled. */
  void bothAgain(Worker failed, RetryReason reason) {
    run = null;
    exclude(failed, reason);
    if (prefills.another(reason)) {
      after(prefills.waitNanos(reason), this::decide);
    } else {
      withoutPrefill(reason);
    }
  }

  /** Excludes a failed worker. A busy one rests, and the request can wait for it. */
  private void exclude(Worker failed, RetryReason reason) {
    if (reason != RetryReason.BUSY) {
      request.prefill().exclude(failed);
    }
  }

  private void withoutPrefill(RetryReason reason) {
    boolean busy = reason == RetryReason.BUSY && !context.settings().wholeWhenPrefillBusy();
    if (busy || prefills.exhausted()) {
      giveUp(null);
    } else {
      take(context.router().withoutPrefill(request));
    }
  }

  /**
   * Ends the request after failed prefills.
   *
   * @param rejection the error if there is no other one; null for that of the exchange
   */
  private void giveUp(Decision.@Nullable Rejected rejection) {
    SplitRouter router = context.router();
    prefills.giveUp(rejection, router.someMayPrefill(request) || router.someMayAnswer(request));
  }

  private void after(long nanos, Runnable step) {
    if (nanos == 0) {
      step.run();
    } else {
      timer = state.loop().schedule(() -> guarded(step), nanos, TimeUnit.NANOSECONDS);
    }
  }

  // Ends the request.

  @Override
  public void failed(Worker failed, RetryReason reason) {
    PdExecution under = run;
    if (under != null) {
      under.decodeFailed(failed);
    } else {
      request.whole().exclude(failed);
      request.wholeByPrefill().exclude(failed);
      request.wholeByDecode().exclude(failed);
      request.decode().exclude(failed);
    }
  }

  @Override
  public Candidates candidates() {
    return this;
  }

  /** All eligible workers, whether they were tried or not. */
  @Override
  public boolean admits(Worker worker, long now) {
    return worker.eligible(now);
  }

  @Override
  public boolean goesOnWithoutModel() {
    return true;
  }

  @Override
  public boolean someUntried() {
    return context.router().someMayAnswer(request);
  }

  @Override
  public Waits waits() {
    return this;
  }

  /** Its waits have limits of their own, so a total timeout has no other cause. */
  @Override
  public Cause cause() {
    return Cause.NONE;
  }

  @Override
  public boolean clientLeft() {
    return run != null && run.clientLeft();
  }

  @Override
  public void checkWorkers() {
    PdExecution under = run;
    if (under != null) {
      guarded(under::checkWorkers);
    }
  }

  /** Ends a prefill on a lost worker if the request can go on without that worker. */
  void leaveIfLost(@Nullable PrefillRequest prefill) {
    if (prefill != null
        && prefill.lost()
        && context.router().goesOnWithout(request, prefill.lease().worker())) {
      prefill.leaveWorker();
    }
  }

  @Override
  public void over(ServedAnswer answer) {
    if (over) {
      return;
    }
    over = true;
    leaveQueue();
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (keptDecode != null) {
      keptDecode.ignored();
      keptDecode = null;
    }
    reportDecision();
    PdExecution under = run;
    run = null;
    try {
      if (under != null) {
        under.over(answer.good());
      }
      release();
    } finally {
      prefills.release();
      letBodyGo();
    }
  }
}
