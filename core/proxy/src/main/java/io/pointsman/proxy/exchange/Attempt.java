package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.call.WorkerCall;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.relay.AnswerSignals;
import io.pointsman.proxy.relay.FirstEvents;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.event.EventKind;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One attempt of a request on one worker. Its answer goes to the client. An error is buffered while
 * a retry is possible; any other answer is relayed. Belongs to the event loop.
 */
final class Attempt extends WorkerCall {
  /** Minimum interval between two reports of the worker's progress. */
  private static final long PROGRESS_NANOS = 50_000_000L;

  /**
   * Maximum delay of the first output after the event that announces it. An error in its place
   * arrives within this time. A parser of tool calls may hold text back for any time.
   */
  private static final long MOST_BEHIND_NANOS = 100_000_000L;

  private final Exchange exchange;
  private final Attempts attempts;
  private final LoopState state;
  private final Lease lease;
  private final @Nullable UpstreamRequest errand;
  private @Nullable Relay relay;

  /** Null if the lease has no observer. */
  private @Nullable AnswerSignals signals;

  private boolean requestSent;
  private boolean reached;

  /** Null until the start of a relayed answer. */
  private @Nullable FirstEvents first;

  private int status;
  private long activeAt;
  private long progressAt;

  /** Time of the last comment to the client; before the first comment, the start of the answer. */
  private long commentedAt;

  /**
   * @param errand request to the worker in place of the client's; null for the client's
   */
  Attempt(Exchange exchange, Attempts attempts, Lease lease, @Nullable UpstreamRequest errand) {
    super(exchange.state(), lease, exchange.head().method(), exchange.answers()::interim);
    this.errand = errand;
    this.exchange = exchange;
    this.attempts = attempts;
    this.lease = lease;
    state = exchange.state();
  }

  Worker worker() {
    return lease.worker();
  }

  /** The request to the worker in place of the client's; null for the client's. */
  @Nullable UpstreamRequest errand() {
    return errand;
  }

  /** Starts the attempt. A request that cannot be sent again needs a new connection. */
  void start() {
    activeAt = state.now();
    call(sendsOnce() || (errand != null && errand.once()));
  }

  /**
   * True if the request must not be sent twice: it is not repeatable, or not completely received.
   */
  private boolean sendsOnce() {
    return !exchange.received() || !exchange.repeatable();
  }

  /** Sends the received part of the request. */
  @Override
  protected void send(UpstreamConnection to) {
    requestSent = false;
    activeAt = state.now();
    if (errand != null) {
      lease.dispatched();
      errand.sent();
    }
    exchange.send(headWriter(), to, errand);
  }

  @Override
  protected boolean sentWhole() {
    return requestSent;
  }

  @Override
  protected boolean resends() {
    boolean again = exchange.body().replayable();
    if (again) {
      attempts.resends();
    }
    return again;
  }

  /** Records that the last byte of the request was sent. */
  void requestSent() {
    requestSent = true;
    activeAt = state.now();
    attempts.sent(worker());
  }

  /** Records that a part of a streamed request was sent. */
  void requestMoved() {
    activeAt = state.now();
  }

  @Override
  protected void heard() {
    activeAt = state.now();
  }

  @Override
  protected boolean headArrived(ResponseHead head) {
    status = head.status();
    progressAt = activeAt;
    exchange.report().headArrived(activeAt);
    return attempts.holds(status);
  }

  @Override
  protected boolean fits(BufferedResponse error) {
    return error.fits();
  }

  /** Relays an error that is too large to buffer. */
  @Override
  protected void outgrown(BufferedResponse error) {
    takeHeld();
    state.head().parse(error.head(), error.head().length);
    answers(state.head(), error.takeBody());
  }

  @Override
  protected void refused(BufferedResponse error) {
    if (error.busy()) {
      worker().rest(error.restNanos(), error.status());
      lease.ignored();
    } else {
      settle();
    }
    attempts.held(this, error);
  }

  private void settle() {
    if (BufferedResponse.workersFault(status)) {
      lease.failed(Failure.ERROR);
    } else if (status >= 400) {
      lease.refused();
    } else {
      lease.succeeded();
    }
  }

  @Override
  protected void answers(ResponseHead head, ByteBuf in) {
    attempts.answering();
    if (!BufferedResponse.workersFault(status)) {
      lease.answersWell();
    }
    first = new FirstEvents(head, exchange.head().method());
    Relay begun = open(head, in);
    relay = begun;
    commentedAt = activeAt;
    signals = lease.observed() ? AnswerSignals.of(lease, head) : null;
    if (begun.empty()) {
      boolean surplus = in.isReadable();
      in.release();
      begun.sendHead();
      finish(begun, surplus);
    } else if (in.isReadable()) {
      body(in);
    } else {
      in.release();
    }
  }

  private Relay open(ResponseHead head, ByteBuf in) {
    try {
      return exchange.answers().open(worker(), head, exchange.received(), errand);
    } catch (RuntimeException | Error e) {
      in.release();
      throw e;
    }
  }

  @Override
  protected void body(ByteBuf in) {
    Relay under = relay;
    FirstEvents begin = first;
    if (under == null || begin == null) {
      in.release();
      return;
    }
    boolean produced = begun();
    EventKind told = begin.read(in);
    if (signals != null) {
      signals.bodyArrived(in, told.computed());
    }
    progressed(!produced && begun());
    boolean open = headHeld(under);
    if (open && told.failed()) {
      in.release();
      failedBehindHead(under, told == EventKind.BUSY);
    } else if (!open || told.decides() || !begin.keep(in)) {
      pass(under, told, begin.join(in));
    }
  }

  /**
   * @param starts true if this is the first output
   */
  private void progressed(boolean starts) {
    if (starts || activeAt - progressAt > PROGRESS_NANOS) {
      progressAt = activeAt;
      if (begun()) {
        lease.progressed();
      } else {
        lease.accepted();
      }
    }
  }

  private void pass(Relay under, EventKind told, ByteBuf in) {
    exchange.answers().bodyArrived(in, activeAt, told.computed());
    Relay.Progress progress = under.relay(in);
    tellReached(under);
    switch (progress) {
      case MORE -> {
        UpstreamConnection from = connection();
        if (!exchange.client().writable() && from != null) {
          from.setReading(false);
        }
      }
      case DONE -> finish(under, under.surplus());
      case MALFORMED -> breakOff(Failure.ERROR, ProxyError.UPSTREAM_BROKE_OFF);
    }
  }

  /** Handles an error in place of the first output. The client has received nothing yet. */
  private void failedBehindHead(Relay under, boolean busy) {
    drop();
    settleFault(busy);
    under.release();
    attempts.failed(
        this,
        busy ? RetryReason.BUSY : RetryReason.STATUS,
        busy ? ProxyError.ALL_BUSY : ProxyError.UPSTREAM_BROKE_OFF);
  }

  private void tellReached(Relay under) {
    if (!reached && under.bytesOut() > 0) {
      reached = true;
      exchange.reached();
      if (errand != null) {
        errand.reached();
      }
    }
  }

  @Override
  public void receivedAll() {
    Relay under = relay;
    if (phase() == Phase.ANSWERING && under != null) {
      if (!headHeld(under)) {
        under.sendHead();
        tellReached(under);
      }
      exchange.client().flush();
    }
  }

  /** True if the head must not go to the client yet. */
  private boolean headHeld(Relay under) {
    return errand != null && errand.holdsHead() && under.bytesOut() == 0;
  }

  private void finish(Relay under, boolean surplus) {
    complete(surplus);
    if (signals != null) {
      signals.ended();
    }
    settle();
    exchange.answered(status, under);
  }

  /** Without framing, only an orderly close marks the end of the answer. */
  @Override
  protected void cutOff(boolean orderly) {
    Relay under = relay;
    if (under != null && orderly && !keeps() && under.endOfConnection()) {
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
    Relay under = relay;
    drop();
    lease.failed(failure);
    RetryReason why = failure == Failure.TIMEOUT ? RetryReason.TIMEOUT : RetryReason.RESET;
    if (under == null || under.bytesOut() == 0) {
      if (under != null) {
        under.release();
      }
      attempts.failed(this, why, error);
      return;
    }
    if (errand != null) {
      errand.failed(why);
    }
    exchange.brokenOff(under, error);
  }

  @Override
  public void defective(Throwable defect) {
    exchange.failed(defect);
  }

  @Override
  public void writable(boolean writable) {
    exchange.workerWritable(writable);
  }

  /** Reports that the client accepts bytes again, or should get none for the present. */
  void clientWritable(boolean writable) {
    UpstreamConnection from = connection();
    if (from != null && phase() == Phase.ANSWERING) {
      from.setReading(writable);
      activeAt = state.now();
    }
  }

  /** Ends the attempt if a timeout of the worker has expired, or the worker is lost. */
  void checkTimeouts(long now, TimeoutSettings timeouts, long keepAliveNanos) {
    if (workerLost() && withoutOutput() && attempts.mayLeaveWorker(this)) {
      leaveWorker();
      return;
    }
    long silent = silent(now);
    switch (phase()) {
      case AWAITING_HEAD -> {
        if (!exchange.waitsForClient()
            && TimeoutSettings.passed(silent, firstByte(timeouts).toNanos())) {
          late();
        }
      }
      case HOLDING -> {
        if (TimeoutSettings.passed(silent, timeouts.idle().toNanos())) {
          late();
        }
      }
      case ANSWERING -> checkRelay(now, timeouts, keepAliveNanos);
      case CONNECTING, OVER -> {}
    }
  }

  /** True if the request is sent, and the client can still get another worker's answer. */
  private boolean withoutOutput() {
    return switch (phase()) {
      case AWAITING_HEAD -> !exchange.waitsForClient();
      case ANSWERING -> !begun() && relay != null && relay.bytesOut() == 0;
      case CONNECTING, HOLDING, OVER -> false;
    };
  }

  private void leaveWorker() {
    Relay under = relay;
    drop();
    lease.failed(Failure.TIMEOUT);
    if (under != null) {
      under.release();
    }
    attempts.failed(this, RetryReason.LOST, ProxyError.UPSTREAM_TIMEOUT);
  }

  private Duration firstByte(TimeoutSettings timeouts) {
    return errand == null ? timeouts.firstByte() : errand.firstByte(timeouts.firstByte());
  }

  /** Nanoseconds since the last byte from the worker, or since bytes could be written to it. */
  long silent(long now) {
    return now - activeAt;
  }

  private void checkRelay(long now, TimeoutSettings timeouts, long keepAliveNanos) {
    long silent = silent(now);
    if (!exchange.client().writable()) {
      lease.heldUp();
      if (TimeoutSettings.passed(silent, timeouts.clientIdle().toNanos())) {
        exchange.clientStalled();
      }
    } else if (!begun() && TimeoutSettings.passed(silent, firstByte(timeouts).toNanos())) {
      // Engines send the head of a stream immediately and compute the prompt after it.
      breakOff(Failure.TIMEOUT, ProxyError.UPSTREAM_TIMEOUT);
    } else if (begun() && TimeoutSettings.passed(silent, timeouts.idle().toNanos())) {
      breakOff(Failure.TIMEOUT, ProxyError.UPSTREAM_STALLED);
    } else if (begun() && keeps() && silent > MOST_BEHIND_NANOS) {
      passKept();
    } else if (TimeoutSettings.passed(Math.min(silent, now - commentedAt), keepAliveNanos)
        && relay != null
        && !headHeld(relay)) {
      commentedAt = now;
      relay.keepAlive();
      exchange.client().flush();
    }
  }

  /** True if the engine has computed a part of the received body. */
  private boolean begun() {
    return first != null && first.told() != EventKind.TAKEN;
  }

  private boolean keeps() {
    return first != null && first.keeps();
  }

  private void passKept() {
    if (relay != null && first != null) {
      pass(relay, first.told(), first.join(Unpooled.EMPTY_BUFFER));
      exchange.client().flush();
    }
  }

  /** Reports that the client left, before the attempt is cancelled. */
  void clientLeft() {
    if (requestSent) {
      lease.clientLeft();
    }
  }

  /** Cancels the attempt because the client left or a total timeout expired. */
  void abandon(@Nullable Failure failure) {
    giveUp(failure);
  }

  @Override
  protected void failed(RetryReason reason, ProxyError error) {
    attempts.failed(this, reason, error);
  }

  /** The relay of the current answer; null before the answer. */
  @Nullable Relay relay() {
    return phase() == Phase.ANSWERING ? relay : null;
  }

  @Override
  protected void dropped() {
    if (first != null) {
      first.release();
    }
  }
}
