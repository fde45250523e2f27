package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.call.CallResult;
import io.pointsman.proxy.call.WorkerCall;
import io.pointsman.proxy.exchange.AttemptResult.Owner;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.handler.UpstreamRequest.Step;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.relay.AnswerReader;
import io.pointsman.proxy.relay.AnswerSignals;
import io.pointsman.proxy.relay.FirstEvents;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults.Evidence;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.telemetry.RequestEvent.ModelMissing;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.proxy.wire.SentKey;
import io.pointsman.request.event.EngineEnd;
import io.pointsman.request.event.EventKind;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One attempt of a request on one worker. Its answer goes to the client. An error is buffered while
 * a retry is possible; any other answer is relayed. It is one class because its buffer, its relay
 * and its timeouts share the state of one answer. Belongs to the event loop.
 */
final class Attempt extends WorkerCall {
  private static final int OK = 200;
  private static final int NOT_FOUND = 404;

  /**
   * Maximum delay of the first output after the event that announces it. An error in its place
   * arrives within this time. A parser of tool calls may hold text back for any time.
   */
  private static final long MOST_BEHIND_NANOS = 100_000_000L;

  /** Maximum size in bytes of a good answer that is buffered until it is complete. */
  private static final int MOST_WHOLE = 1 << 18;

  /**
   * Maximum time between the first and the last byte of such an answer. An engine sends it at once.
   */
  private static final long MOST_BUFFERED_NANOS = 250_000_000L;

  /** Maximum silence of a worker after the client of its WebSocket has ended its side. */
  private static final long MOST_HALF_OPEN_NANOS = 30_000_000_000L;

  /** Silence of a stream after which it is lost if its worker refuses probes: 10 s. */
  private static final long MOST_SILENT_CLOSED_NANOS = 10_000_000_000L;

  /** The same for an answer in one piece, which a server that drains still computes: 30 s. */
  private static final long MOST_UNANSWERED_CLOSED_NANOS = 30_000_000_000L;

  private final Owner owner;
  private final AttemptContext context;
  private final ExchangeParts parts;
  private final Retries retries;
  private final LoopState state;
  private final Lease lease;
  private final UpstreamRequest request;
  private final UpstreamRequest.WaitRules rules;

  /** The answer that is being relayed; null before it. */
  private @Nullable RelayedAnswer relayed;

  /** Null if the answer has no signs of interest. */
  private @Nullable AnswerReader reader;

  /** True if the answer is complete before it is relayed. */
  private boolean whole;

  /** Time at which a part of a good answer was first seen in the buffer; 0 before. */
  private long bufferedSince;

  /** True after the worker has switched to the WebSocket protocol. */
  private boolean tunnel;

  /** The end of the engine that an error in the answer has reported. */
  private EngineEnd engineEnd = EngineEnd.NONE;

  private boolean answered;
  private int status;

  /**
   * @param owner receiver of the result
   * @param lease ownership passes to this object
   * @param request the request that the worker gets
   */
  Attempt(Owner owner, AttemptContext context, Lease lease, UpstreamRequest request) {
    super(
        context.parts().state(),
        lease,
        context.parts().faults(),
        new Request(
            context.parts().head().method(),
            context.parts().head().webSocket(),
            context.parts().answers()::interim,
            () -> context.parts().report().retried(RetryReason.STALE)));
    this.request = request;
    this.owner = owner;
    this.context = context;
    this.lease = lease;
    parts = context.parts();
    retries = context.retries();
    rules = request.rules();
    state = parts.state();
  }

  Worker worker() {
    return lease.worker();
  }

  /** The request that the worker gets. */
  UpstreamRequest request() {
    return request;
  }

  /** Starts the attempt. A request that cannot be sent again needs a new connection. */
  void start() {
    active();
    call(sendsOnce() || request.message().once());
  }

  /**
   * True if the request must not be sent twice: it is not repeatable, or not completely received.
   */
  private boolean sendsOnce() {
    return !parts.body().complete() || !parts.repeatable();
  }

  /** Sends the received part of the request. */
  @Override
  protected boolean send(UpstreamConnection to) {
    lease.dispatched();
    request.reached(Step.SENT);
    boolean all = context.sender().send(headWriter(), to, request);
    if (all) {
      context.sender().sentWhole(worker());
    }
    return all;
  }

  /** Records that the last byte of a streamed request was sent. */
  void requestSent() {
    sentWhole();
    context.sender().sentWhole(worker());
  }

  /** Records that a part of a streamed request was sent. */
  void requestMoved() {
    active();
  }

  @Override
  protected int headArrived(ResponseHead head) {
    status = head.status();
    parts.report().headArrived(activeAt());
    boolean buffered =
        retries.holds(status)
            || (status == NOT_FOUND && listsModel())
            || (inOnePiece(head) && AnswerReader.showsAborts(parts.endpoint(), head));
    if (!buffered) {
      return NOT_BUFFERED;
    }
    return good(status) ? MOST_WHOLE : BufferedResponse.MOST_BYTES;
  }

  @Override
  protected SentKey sentKey() {
    return headWriter().key(parts.head());
  }

  /** False if the answer may be a stream in another format, for example lines of JSON. */
  private boolean inOnePiece(ResponseHead head) {
    boolean measured = !head.chunked() && head.contentLength() != ResponseHead.UNKNOWN;
    return parts.head().method().equals("POST") && (measured || !context.facts().stream());
  }

  @Override
  protected boolean arrivedWhole(ResponseHead head, ByteBuf in) {
    whole = good(status) && !head.chunked() && head.contentLength() == in.readableBytes();
    return whole;
  }

  private static boolean good(int status) {
    return status < 400;
  }

  @Override
  protected void ended(CallResult result) {
    switch (result) {
      case CallResult.Buffered(BufferedResponse answer) -> buffered(answer);
      case CallResult.CutOff(boolean orderly) -> cutOff(orderly);
      case CallResult.Failed(RetryReason reason, ProxyError error) ->
          end(new AttemptResult.Unanswered(reason, error));
    }
  }

  private void end(AttemptResult result) {
    owner.ended(this, result);
  }

  /** True if the worker has listed the model of the request. */
  private boolean listsModel() {
    String model = context.facts().model();
    return model != null && worker().models().contains(model);
  }

  private void buffered(BufferedResponse answer) {
    if (good(answer.status())) {
      relayWhole(answer);
      return;
    }
    if (answer.status() == NOT_FOUND && !retries.goesOnAfter(NOT_FOUND)) {
      notFound(answer);
      return;
    }
    if (answer.busy()) {
      answer.restWorker();
      lease.ignored();
    } else {
      settle();
    }
    end(new AttemptResult.Refused(answer));
  }

  /** Handles a 404. An engine that has restarted may not serve its earlier models. */
  private void notFound(BufferedResponse answer) {
    String model = context.facts().model();
    if (model != null && answer.lacksModel(model)) {
      state.server().listener().on(new ModelMissing(worker(), model));
      if (retries.anotherWithoutModel()) {
        lease.ignored();
        end(new AttemptResult.Refused(answer));
        return;
      }
    }
    relayWhole(answer);
  }

  private void relayWhole(BufferedResponse answer) {
    whole = true;
    state.head().parse(answer.head(), answer.head().length);
    answers(state.head(), answer.takeBody());
    RelayedAnswer begun = relayed;
    if (!answered && begun != null && begun.relay().endOfConnection()) {
      finish(begun, false);
    }
  }

  private void settle() {
    boolean failedInStream =
        engineEnd == EngineEnd.DEATH || (relayed != null && relayed.failedInStream());
    if (engineEnd == EngineEnd.SHUTDOWN) {
      lease.ignored();
    } else if (failedInStream || BufferedResponse.workersFault(status)) {
      boolean engine = status != BufferedResponse.BUSY && !rules.mayFailForFormer();
      faults().failed(lease, Failure.ERROR, Evidence.ofAnswer(lease.worker(), engine));
    } else if (status >= 400) {
      lease.refused();
      faults().answered(false);
    } else {
      if (tunnel) {
        lease.sessionEnded();
      } else {
        lease.succeeded();
      }
      faults().answered(true);
    }
  }

  @Override
  protected void answers(ResponseHead head, ByteBuf in) {
    String method = parts.head().method();
    AnswerReader reading =
        AnswerReader.of(
            parts.endpoint(),
            head,
            method,
            lease.observed() || state.server().listener().readsUsage() || context.countsTokens(),
            context.charged(),
            state::contents);
    reader = reading;
    if (whole && reading != null) {
      reading.read(in);
      reading.ended();
      if (aborts(reading.aborted(worker().shuttingDownSince(lease.placedAt())))) {
        in.release();
        endUnanswered();
        return;
      }
    }
    retries.release();
    if (!BufferedResponse.workersFault(status)) {
      lease.answersWell();
    }
    FirstEvents first = new FirstEvents(head, method);
    RelayedAnswer begun =
        new RelayedAnswer(
            parts, lease, request, open(head, in), first, whole ? null : reading, activeAt());
    relayed = begun;
    if (head.switchesToWebSocket()) {
      tunnel(begun);
    }
    begun.signals(lease.observed() ? AnswerSignals.of(lease, head) : null);
    if (head.status() == OK && head.eventStream() && retries.mayRepeat()) {
      begun.headWaits();
    }
    if (begun.relay().empty()) {
      boolean surplus = in.isReadable();
      in.release();
      begun.relay().sendHead();
      finish(begun, surplus);
    } else if (in.isReadable()) {
      body(in);
    } else {
      in.release();
    }
  }

  /** Passes the client's bytes on. From its head on, another worker cannot take over. */
  private void tunnel(RelayedAnswer begun) {
    tunnel = true;
    begun.sendHead();
    context.upload().tunnel();
  }

  private Relay open(ResponseHead head, ByteBuf in) {
    try {
      return parts.answers().open(worker(), head, parts.body().complete(), request.answered(head));
    } catch (RuntimeException | Error e) {
      in.release();
      throw e;
    }
  }

  @Override
  protected void body(ByteBuf in) {
    RelayedAnswer under = relayed;
    if (under == null) {
      in.release();
      return;
    }
    boolean produced = under.begun();
    EventKind kind = under.follow(in);
    if (tunnel && reader != null) {
      context.quota().used(reader.usage(), state.server().ticker().nanos());
    }
    if (aborts(under.aborted(worker().shuttingDownSince(lease.placedAt())))) {
      endAborted(under, kind, in);
      return;
    }
    if (under.engineEnd() != engineEnd) {
      engineEnd = under.engineEnd();
      worker().shutsDown();
    }
    under.report(in, kind, !produced && under.begun(), activeAt());
    boolean open = under.headBuffered();
    boolean unsent = open || (engineEnd != EngineEnd.NONE && under.unsent());
    if (unsent && kind.failed()) {
      in.release();
      failedBehindHead(under, kind == EventKind.BUSY || engineEnd == EngineEnd.SHUTDOWN);
    } else if (!open || kind.decides() || !under.keep(in)) {
      passed(under, under.pass(in, kind, activeAt()));
    }
  }

  private void passed(RelayedAnswer under, Relay.Progress progress) {
    switch (progress) {
      case MORE -> {
        UpstreamConnection from = connection();
        if (!parts.client().writable() && from != null) {
          from.setReading(false);
        }
      }
      case DONE -> finish(under, under.relay().surplus());
      case MALFORMED -> breakOff(Failure.ERROR, ProxyError.UPSTREAM_BROKE_OFF);
    }
  }

  /**
   * True if the engine aborted the request, and no client asked for that. The worker then counts as
   * shutting down.
   *
   * @param found true if the answer says that the request was aborted
   */
  private boolean aborts(boolean found) {
    boolean aborted = found && !worker().abortsWanted();
    if (aborted) {
      worker().shutsDown();
    }
    return aborted;
  }

  /** Ends an attempt that the engine aborted, without a byte for the client. */
  private void endUnanswered() {
    drop();
    lease.ignored();
    discard();
    end(new AttemptResult.Unanswered(RetryReason.ABORTED, ProxyError.UPSTREAM_ABORTED));
  }

  /** Releases an answer. The client gets nothing of it. */
  private void discard() {
    if (relayed != null) {
      relayed.discard();
    }
  }

  /** Ends an answer that the engine aborted. The end of the answer is not relayed. */
  private void endAborted(RelayedAnswer under, EventKind kind, ByteBuf in) {
    if (under.unsent()) {
      in.release();
      endUnanswered();
      return;
    }
    int event = under.abortedEvent(in);
    if (under.relay().events() && event > in.readerIndex()) {
      under.passUpTo(event, in, kind, activeAt());
    } else {
      in.release();
    }
    cutShort(under);
  }

  /** Ends an answer because its engine shuts down. The client has a part of it. */
  private void cutShort(RelayedAnswer under) {
    drop();
    lease.ignored();
    request.failed(RetryReason.ABORTED);
    end(new AttemptResult.BrokenOff(under.relay(), ProxyError.UPSTREAM_ABORTED));
  }

  /** Handles an error in place of the first output. The client has received nothing yet. */
  private void failedBehindHead(RelayedAnswer under, boolean busy) {
    drop();
    settleFault(busy);
    under.discard();
    end(
        new AttemptResult.Unanswered(
            busy ? RetryReason.BUSY : RetryReason.STATUS,
            busy ? ProxyError.ALL_BUSY : ProxyError.UPSTREAM_BROKE_OFF));
  }

  @Override
  public void receivedAll() {
    if (phase() == Phase.ANSWERING && relayed != null) {
      relayed.offerHead();
      parts.client().flush();
    }
  }

  private void finish(RelayedAnswer under, boolean surplus) {
    answered = true;
    complete(surplus);
    if (reader != null && !tunnel) {
      // The counts of a WebSocket are sums over all its answers.
      lease.reported(reader.usage());
    }
    reportCounts();
    settle();
    end(new AttemptResult.Answered(status, under.relay()));
  }

  /** Without framing, only an orderly close marks the end of the answer. */
  private void cutOff(boolean orderly) {
    RelayedAnswer under = relayed;
    if (under != null && orderly && !under.keeps() && under.relay().endOfConnection()) {
      finish(under, false);
    } else {
      breakOff(Failure.ERROR, ProxyError.UPSTREAM_BROKE_OFF);
    }
  }

  /**
   * Ends an answer that cannot be completed. A retry is possible if the client has received
   * nothing.
   */
  private void breakOff(Failure failure, ProxyError error) {
    RelayedAnswer under = relayed;
    if (under != null && under.hasLastEvent() && under.relay().endAfterEvent()) {
      // An error behind the last event would make clients drop the complete answer.
      finish(under, true);
      return;
    }
    boolean unstarted = !begun();
    drop();
    boolean byEngine = failure == Failure.ERROR && (unstarted || engineEnd == EngineEnd.DEATH);
    faults().failed(lease, failure, Evidence.ofSilence(byEngine));
    RetryReason why = failure == Failure.TIMEOUT ? RetryReason.TIMEOUT : resetReason();
    if (under == null || under.unsent()) {
      discard();
      end(new AttemptResult.Unanswered(why, error));
      return;
    }
    request.failed(why);
    end(new AttemptResult.BrokenOff(under.relay(), error));
  }

  @Override
  public void defective(Throwable defect) {
    end(new AttemptResult.Defective(defect));
  }

  @Override
  public void writable(boolean writable) {
    context.upload().workerWritable(writable);
  }

  /** Reports that the client accepts bytes again, or should get none for the present. */
  void clientWritable(boolean writable) {
    UpstreamConnection from = connection();
    if (from != null && phase() == Phase.ANSWERING) {
      from.setReading(writable);
      active();
    }
  }

  /** Ends the attempt if a timeout of the worker has expired, or the worker is lost. */
  void checkTimeouts(long now, TimeoutSettings timeouts, long keepAliveNanos) {
    if (workerLost() && withoutOutput() && retries.mayLeaveWorker(worker(), request)) {
      leaveWorker();
      return;
    }
    long silent = silent(now);
    switch (phase()) {
      case AWAITING_HEAD -> {
        if (silent > MOST_UNANSWERED_CLOSED_NANOS
            && closed()
            && withoutOutput()
            && retries.mayLeaveWorker(worker(), request)) {
          endUnanswered();
        } else if (!context.upload().waitsForClient(this)
            && TimeoutSettings.passed(silent, firstByte(timeouts).toNanos())) {
          late();
        }
      }
      case HOLDING -> {
        checkBuffered(now, silent, timeouts);
      }
      case ANSWERING -> checkRelay(now, timeouts, keepAliveNanos);
      case CONNECTING, OVER -> {}
    }
  }

  /** True if the request is sent, and the client can still get another worker's answer. */
  private boolean withoutOutput() {
    return switch (phase()) {
      case AWAITING_HEAD -> !context.upload().waitsForClient(this);
      case ANSWERING -> relayed != null && !relayed.begun() && relayed.unsent();
      case CONNECTING, HOLDING, OVER -> false;
    };
  }

  private void leaveWorker() {
    drop();
    lease.failed(Failure.TIMEOUT);
    discard();
    end(new AttemptResult.Unanswered(RetryReason.LOST, ProxyError.UPSTREAM_TIMEOUT));
  }

  private void checkBuffered(long now, long silent, TimeoutSettings timeouts) {
    BufferedResponse part = buffered();
    boolean waits = part != null && good(part.status()) && part.bytes() == 0;
    Duration limit = waits ? firstByte(timeouts) : timeouts.idle();
    if (TimeoutSettings.passed(silent, limit.toNanos())) {
      late();
    } else if (part != null && good(part.status()) && part.bytes() > 0) {
      bufferedSince = bufferedSince == 0 ? now : bufferedSince;
      if (now - bufferedSince > MOST_BUFFERED_NANOS) {
        passBuffered(part);
        parts.client().flush();
      }
    }
  }

  private Duration firstByte(TimeoutSettings timeouts) {
    return rules.firstByteOr(timeouts.firstByte());
  }

  /** Nanoseconds since the last byte from the worker, or since bytes could be written to it. */
  long silent(long now) {
    return now - activeAt();
  }

  /** Ends a WebSocket without bytes in both directions. That is nobody's failure. */
  private void checkTunnel(RelayedAnswer under, long silent, TimeoutSettings timeouts) {
    boolean halfOpen = context.upload().clientEnded() && silent > MOST_HALF_OPEN_NANOS;
    if (halfOpen
        || (!parts.client().writable()
            && TimeoutSettings.passed(silent, timeouts.clientIdle().toNanos()))) {
      end(new AttemptResult.ClientStalled());
    } else if (TimeoutSettings.passed(silent, timeouts.idle().toNanos())) {
      drop();
      lease.ignored();
      end(new AttemptResult.Answered(status, under.relay()));
    }
  }

  private void checkRelay(long now, TimeoutSettings timeouts, long keepAliveNanos) {
    long silent = silent(now);
    RelayedAnswer under = relayed;
    if (tunnel && under != null) {
      checkTunnel(under, silent, timeouts);
    } else if (!begun() && under != null && under.relay().events() && engineGone(under, silent)) {
      endUnbegun(under);
    } else if (!parts.client().writable()) {
      lease.clientPaused();
      if (TimeoutSettings.passed(silent, timeouts.clientIdle().toNanos())) {
        end(new AttemptResult.ClientStalled());
      }
    } else if (!begun() && TimeoutSettings.passed(silent, firstByte(timeouts).toNanos())) {
      // Engines send the head of a stream immediately and compute the prompt after it.
      breakOff(Failure.TIMEOUT, ProxyError.UPSTREAM_TIMEOUT);
    } else if (begun() && TimeoutSettings.passed(silent, timeouts.idle().toNanos())) {
      breakOff(Failure.TIMEOUT, ProxyError.UPSTREAM_STALLED);
    } else if (begun() && under != null && engineClosed(silent)) {
      cutShort(under);
    } else if (under != null && begun() && under.keeps() && silent > MOST_BEHIND_NANOS) {
      passed(under, under.passKept(activeAt()));
      parts.client().flush();
    } else if (under != null
        && TimeoutSettings.passed(Math.min(silent, under.uncommented(now)), keepAliveNanos)
        && !under.headBuffered()) {
      under.comment(now);
      parts.client().flush();
    }
  }

  /**
   * True if the engine shuts down, or nobody listens there and another worker can serve. A stream
   * with early events, for example {@code response.created}, cannot be sent elsewhere. It ends
   * after a longer silence, because an engine that drains may still compute its prompt.
   */
  private boolean engineGone(RelayedAnswer under, long silent) {
    return worker().shuttingDownSince(lease.placedAt())
        || (silent > MOST_UNANSWERED_CLOSED_NANOS && closed())
        || (worker().refusing() && under.unsent() && retries.mayUseAnother(worker()));
  }

  /**
   * True if nobody listens at the worker and the stream is silent. A server that drains listens no
   * more either, but its streams go on.
   */
  private boolean engineClosed(long silent) {
    return silent > MOST_SILENT_CLOSED_NANOS && closed();
  }

  private boolean closed() {
    return worker().refusing() && !worker().health().healthy();
  }

  /**
   * Ends a stream without output, because its engine shuts down. vLLM's server keeps such a
   * connection open after its engine has ended.
   */
  private void endUnbegun(RelayedAnswer under) {
    if (under.unsent()) {
      endUnanswered();
    } else {
      cutShort(under);
    }
  }

  /** True if the engine has computed a part of the received body. */
  private boolean begun() {
    return relayed != null && relayed.begun();
  }

  /** Reports that the client left, before the attempt is cancelled. */
  void clientLeft() {
    if (wholeSent()) {
      lease.clientLeft();
    }
  }

  /** Cancels the attempt because the client left or a total timeout expired. */
  void abandon(@Nullable Failure failure) {
    giveUp(failure);
  }

  /** The relay of the current answer; null before the answer. */
  @Nullable Relay relay() {
    return phase() == Phase.ANSWERING && relayed != null ? relayed.relay() : null;
  }

  @Override
  protected void drop() {
    super.drop();
    if (relayed != null) {
      relayed.releaseKept();
      if (!answered && !relayed.unsent()) {
        parts.report().endedEarly(relayed.relay().bytesOut());
        reportCounts();
      }
    }
  }

  /** Records the counts that were read, of a part of an answer too. */
  private void reportCounts() {
    if (reader != null) {
      parts.report().used(reader.usage(), reader.events());
    }
  }
}
