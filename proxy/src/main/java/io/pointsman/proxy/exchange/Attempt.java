package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.course.Errand;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.Connecting;
import io.pointsman.proxy.upstream.Descriptors;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.upstream.UpstreamPool;
import io.pointsman.proxy.upstream.UpstreamUser;
import io.pointsman.proxy.wire.ResponseHead;
import java.time.Duration;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One try of a request on one worker: holds the lease and the connection, and lets go of both on
 * every way out. Its phases follow each other as its methods do. Belongs to the event loop.
 */
final class Attempt implements UpstreamUser {
  private enum Phase {
    CONNECTING,
    AWAITING_HEAD,
    /** Keeps an error while it is open whether another worker is tried. */
    HOLDING,
    RELAYING,
    OVER
  }

  /** How often the worker's progress is noted at most. */
  private static final long PROGRESS_NANOS = 50_000_000L;

  private final Exchange exchange;
  private final Attempts attempts;
  private final LoopState state;
  private final Lease lease;
  private final @Nullable Errand errand;
  private final Worker worker;
  private final UpstreamPool pool;
  private final HeadCollector heads;
  private Phase phase = Phase.CONNECTING;
  private @Nullable Connecting connecting;
  private @Nullable UpstreamConnection connection;
  private @Nullable HeldAnswer held;
  private @Nullable Relay relay;

  /** Null while nobody listens to them. */
  private @Nullable AnswerSignals signals;

  private boolean pooled;
  private boolean resent;
  private boolean requestSent;
  private boolean reached;
  private boolean reusable;
  private int status;
  private long activeAt;
  private long progressAt;

  /**
   * @param errand what the worker is sent in place of the client's own request; null for that
   */
  Attempt(Exchange exchange, Attempts attempts, Lease lease, @Nullable Errand errand) {
    this.errand = errand;
    this.exchange = exchange;
    this.attempts = attempts;
    this.lease = lease;
    state = exchange.state();
    worker = lease.worker();
    pool = state.pools().to(worker);
    heads = new HeadCollector(state, exchange.answers()::interim);
  }

  Worker worker() {
    return worker;
  }

  /** What the worker is sent in place of the client's own request; null for that. */
  @Nullable Errand errand() {
    return errand;
  }

  /**
   * Takes a connection that is there, or opens one. A request that cannot be sent again needs one
   * that is certainly alive.
   */
  void start() {
    activeAt = state.now();
    UpstreamConnection unused = exchange.sendsOnce() ? null : pool.take(this, activeAt);
    if (unused != null) {
      connected(unused);
    } else {
      open();
    }
  }

  private void open() {
    phase = Phase.CONNECTING;
    pool.connect(this, opening -> connecting = opening);
  }

  @Override
  public void connectFailed(Throwable cause) {
    phase = Phase.OVER;
    if (Descriptors.exhausted(cause)) {
      lease.ignored();
      attempts.failed(this, RetryReason.CONNECT, ProxyError.OUT_OF_DESCRIPTORS);
      return;
    }
    lease.failed(Failure.CONNECT);
    attempts.failed(this, RetryReason.CONNECT, ProxyError.UPSTREAM_CONNECT);
  }

  /** Sends the request, or as much of it as has come. */
  @Override
  public void connected(UpstreamConnection ready) {
    connecting = null;
    connection = ready;
    pooled = ready.reused();
    phase = Phase.AWAITING_HEAD;
    requestSent = false;
    activeAt = state.now();
    if (errand != null) {
      lease.dispatched();
      errand.sent();
    }
    exchange.send(pool.heads(), ready, errand);
    ready.flush();
  }

  /** The last byte of the request has been sent. */
  void requestSent() {
    requestSent = true;
    activeAt = state.now();
  }

  /** A part of a request that is being streamed has been sent. */
  void requestMoved() {
    activeAt = state.now();
  }

  @Override
  public void received(ByteBuf bytes) {
    if (phase == Phase.AWAITING_HEAD) {
      awaitHead(bytes);
      return;
    }
    activeAt = state.now();
    switch (phase) {
      case HOLDING -> hold(bytes);
      case RELAYING -> relay(bytes);
      case CONNECTING, AWAITING_HEAD, OVER -> bytes.release();
    }
  }

  /** A part of a head does not count as activity: a worker that trickles it has not answered. */
  private void awaitHead(ByteBuf bytes) {
    switch (heads.take(bytes)) {
      case MORE -> {}
      case COMPLETE -> {
        activeAt = state.now();
        headArrived(state.head(), heads.takeRest());
      }
      case MALFORMED -> protocolFault();
    }
  }

  private void protocolFault() {
    drop();
    lease.failed(Failure.ERROR);
    attempts.failed(this, RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
  }

  /** {@code in} is what came behind the head; taken over. */
  private void headArrived(ResponseHead head, ByteBuf in) {
    status = head.status();
    reusable = head.reusable();
    progressAt = activeAt;
    lease.progressed();
    exchange.headArrived(activeAt);
    if (attempts.holds(status)) {
      byte[] bytes = Arrays.copyOf(state.scratch(head.length()), head.length());
      held = new HeldAnswer(worker, head, bytes, exchange.head().method(), state.allocator());
      phase = Phase.HOLDING;
      hold(in);
    } else {
      relayFrom(head, in);
    }
  }

  private void hold(ByteBuf in) {
    HeldAnswer error = held;
    if (error == null) {
      in.release();
      return;
    }
    if (!error.keep(in)) {
      protocolFault();
    } else if (error.complete()) {
      held(error);
    } else if (!error.fits()) {
      giveUpHolding(error);
    }
  }

  /** The error is too large to be kept: it is passed on. */
  private void giveUpHolding(HeldAnswer error) {
    held = null;
    state.head().parse(error.head(), error.head().length);
    relayFrom(state.head(), error.takeBody());
  }

  private void held(HeldAnswer error) {
    held = null;
    phase = Phase.OVER;
    letGo(error.surplus());
    if (error.busy()) {
      worker.rest(error.restNanos());
      lease.ignored();
    } else {
      settle();
    }
    attempts.held(this, error);
  }

  private void settle() {
    if (HeldAnswer.workersFault(status)) {
      lease.failed(Failure.ERROR);
    } else if (status >= 400) {
      lease.refused();
    } else {
      lease.succeeded();
    }
  }

  private void relayFrom(ResponseHead head, ByteBuf in) {
    attempts.answering();
    if (!HeldAnswer.workersFault(status)) {
      lease.answersWell();
    }
    Relay begun = exchange.beginRelay(this, head);
    relay = begun;
    signals = lease.observed() ? AnswerSignals.of(lease, head) : null;
    phase = Phase.RELAYING;
    if (begun.empty()) {
      boolean surplus = in.isReadable();
      in.release();
      begun.sendHead();
      finish(begun, surplus);
    } else if (in.isReadable()) {
      relay(in);
    } else {
      in.release();
    }
  }

  private void relay(ByteBuf in) {
    Relay under = relay;
    if (under == null) {
      in.release();
      return;
    }
    exchange.bodyArrived(in, activeAt);
    if (signals != null) {
      signals.bodyArrived(in);
    }
    if (activeAt - progressAt > PROGRESS_NANOS) {
      progressAt = activeAt;
      lease.progressed();
    }
    Relay.Progress progress = under.relay(in);
    tellReached(under);
    switch (progress) {
      case MORE -> {
        if (!exchange.clientWritable() && connection != null) {
          connection.setReading(false);
        }
      }
      case DONE -> finish(under, under.surplus());
      case MALFORMED -> breakOff(Failure.ERROR, ProxyError.UPSTREAM_BROKE_OFF);
    }
  }

  private void tellReached(Relay under) {
    if (errand != null && !reached && under.bytesOut() > 0) {
      reached = true;
      errand.reached();
    }
  }

  @Override
  public void receivedAll() {
    Relay under = relay;
    if (phase == Phase.RELAYING && under != null) {
      if (errand == null || !errand.holdsHead() || under.bytesOut() > 0) {
        under.sendHead();
      }
      exchange.flush();
    }
  }

  private void finish(Relay under, boolean surplus) {
    phase = Phase.OVER;
    letGo(surplus);
    if (signals != null) {
      signals.ended();
    }
    settle();
    exchange.answered(status, under);
  }

  /** Gives the connection back if it can serve again. */
  private void letGo(boolean surplus) {
    UpstreamConnection done = connection;
    connection = null;
    if (done == null) {
      return;
    }
    if (reusable && requestSent && !surplus) {
      done.release(activeAt);
    } else {
      done.abort();
    }
  }

  @Override
  public void disconnected(boolean orderly) {
    connection = null;
    switch (phase) {
      case AWAITING_HEAD -> closedBeforeHead();
      case HOLDING -> closedWhileHolding(orderly);
      case RELAYING -> closedWhileRelaying(orderly);
      case CONNECTING, OVER -> {}
    }
  }

  private void closedBeforeHead() {
    boolean stale = pooled && !heads.begun();
    drop();
    if (stale && !resent && exchange.replayable()) {
      resent = true;
      attempts.resends();
      open();
      return;
    }
    lease.failed(Failure.ERROR);
    attempts.failed(this, RetryReason.RESET, ProxyError.UPSTREAM_RESET);
  }

  private void closedWhileHolding(boolean orderly) {
    HeldAnswer error = held;
    if (error != null && orderly && error.endOfConnection()) {
      held(error);
      return;
    }
    drop();
    lease.failed(Failure.ERROR);
    attempts.failed(this, RetryReason.RESET, ProxyError.UPSTREAM_RESET);
  }

  /** Only a worker that closes in order has said that this was all. */
  private void closedWhileRelaying(boolean orderly) {
    Relay under = relay;
    if (under != null && orderly && under.endOfConnection()) {
      finish(under, false);
    } else {
      breakOff(Failure.ERROR, ProxyError.UPSTREAM_BROKE_OFF);
    }
  }

  /** The answer cannot be completed; what the client has seen nothing of may be tried again. */
  private void breakOff(Failure failure, ProxyError error) {
    Relay under = relay;
    drop();
    lease.failed(failure);
    RetryReason why = failure == Failure.TIMEOUT ? RetryReason.TIMEOUT : RetryReason.RESET;
    if (under != null && errand != null && under.bytesOut() == 0 && errand.body() != null) {
      under.release();
      attempts.failed(this, why, error);
      return;
    }
    if (errand != null) {
      errand.failed(why);
    }
    if (under != null) {
      exchange.brokenOff(under, error);
    }
  }

  @Override
  public void writable(boolean writable) {
    exchange.workerWritable(writable);
  }

  /** The client takes bytes again. */
  void clientWritable(boolean writable) {
    if (connection != null && phase == Phase.RELAYING) {
      connection.setReading(writable);
      activeAt = state.now();
    }
  }

  @Nullable UpstreamConnection connection() {
    return connection;
  }

  /** Looks whether the worker takes too long. */
  void checkTimeouts(long now, TimeoutSettings timeouts, long keepAliveNanos) {
    long silent = silent(now);
    switch (phase) {
      case AWAITING_HEAD -> {
        if (!exchange.waitsForClient() && over(silent, firstByte(timeouts).toNanos())) {
          drop();
          lease.failed(Failure.TIMEOUT);
          attempts.failed(this, RetryReason.TIMEOUT, ProxyError.UPSTREAM_TIMEOUT);
        }
      }
      case HOLDING -> {
        if (over(silent, timeouts.idle().toNanos())) {
          drop();
          lease.failed(Failure.TIMEOUT);
          attempts.failed(this, RetryReason.TIMEOUT, ProxyError.UPSTREAM_TIMEOUT);
        }
      }
      case RELAYING -> checkRelay(silent, timeouts, keepAliveNanos);
      case CONNECTING, OVER -> {}
    }
  }

  private Duration firstByte(TimeoutSettings timeouts) {
    return errand == null ? timeouts.firstByte() : errand.firstByte(timeouts.firstByte());
  }

  /** Nanoseconds since anything came from the worker or could go to it. */
  long silent(long now) {
    return now - activeAt;
  }

  private static boolean over(long silent, long timeout) {
    return timeout > 0 && silent > timeout;
  }

  private void checkRelay(long silent, TimeoutSettings timeouts, long keepAliveNanos) {
    if (!exchange.clientWritable()) {
      // It is the client that holds the answer up: the worker is not to count as stalled.
      lease.progressed();
      if (over(silent, timeouts.clientIdle().toNanos())) {
        exchange.clientStalled();
      }
    } else if (over(silent, timeouts.idle().toNanos())) {
      breakOff(Failure.TIMEOUT, ProxyError.UPSTREAM_STALLED);
    } else if (over(silent, keepAliveNanos) && relay != null) {
      relay.keepAlive();
      exchange.flush();
    }
  }

  /** Ends it from outside: the client has left, or the whole took too long. */
  void abandon(@Nullable Failure failure) {
    boolean settled = phase == Phase.OVER;
    drop();
    if (settled) {
      return;
    }
    if (failure == null) {
      lease.ignored();
    } else {
      lease.failed(failure);
    }
  }

  /** The answer that is being relayed; null before. */
  @Nullable Relay relay() {
    return phase == Phase.RELAYING ? relay : null;
  }

  /** Lets go of the connection and of every buffer. */
  private void drop() {
    phase = Phase.OVER;
    if (connecting != null) {
      connecting.cancel();
      connecting = null;
    }
    if (connection != null) {
      connection.abort();
      connection = null;
    }
    heads.release();
    if (held != null) {
      held.release();
      held = null;
    }
  }
}
