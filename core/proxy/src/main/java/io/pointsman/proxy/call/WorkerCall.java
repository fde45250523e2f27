package io.pointsman.proxy.call;

import static java.util.Objects.requireNonNull;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.retry.RequestFaults.Evidence;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.Connecting;
import io.pointsman.proxy.upstream.Shortage;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.upstream.UpstreamPool;
import io.pointsman.proxy.upstream.UpstreamUser;
import io.pointsman.proxy.wire.RequestHeadWriter;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.proxy.wire.SentKey;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request to one worker, up to the body of its answer. It owns the lease and the connection and
 * releases both on every path. A request that fails on a stale pooled connection is sent again
 * once, over a new connection. An error answer can be buffered completely. A subclass writes the
 * request and handles the body of the answer. Belongs to the event loop.
 */
public abstract class WorkerCall implements UpstreamUser {
  /** Phases in their order. */
  protected enum Phase {
    CONNECTING,
    AWAITING_HEAD,
    /** Buffers an error answer until it is complete. */
    HOLDING,
    /** Receives the body of the answer. */
    ANSWERING,
    OVER
  }

  /** Result of {@link #headArrived} for an answer that is not buffered. */
  protected static final int NOT_BUFFERED = -1;

  private static final int OK = 200;

  /** Time for which idle clients make room after descriptors were short. */
  private static final long SHORT_NANOS = 2_000_000_000L;

  private static final long LATE_NANOS = RetrySettings.LATE.toNanos();

  private final LoopState state;
  private final Lease lease;
  private final RequestFaults faults;
  private final String method;
  private final Runnable onResend;
  private final UpstreamPool pool;
  private final HeadCollector heads;
  private Phase phase = Phase.CONNECTING;
  private @Nullable Connecting connecting;
  private @Nullable UpstreamConnection connection;
  private @Nullable BufferedResponse buffered;
  private boolean pooled;
  private boolean resent;
  private boolean reusable;
  private long sentAt;

  /** True if all of the request was sent at once, so it can be sent again. */
  private boolean repeatable;

  private boolean sentWhole;
  private int mostBuffered;

  /** Time of the last sign of life of the worker, or of the last bytes for it. */
  private long activeAt;

  /** Number of the worker's losses at the start. */
  private final int losses;

  /**
   * The request of a call.
   *
   * @param method its method
   * @param upgrades true if the worker may switch to the WebSocket protocol
   * @param onInterim receives interim answers
   * @param onResend called before the request is sent again, because a connection was stale
   */
  public record Request(
      String method, boolean upgrades, Consumer<ResponseHead> onInterim, Runnable onResend) {}

  /**
   * @param lease ownership passes to this object
   * @param faults failures of the client's request
   */
  protected WorkerCall(LoopState state, Lease lease, RequestFaults faults, Request request) {
    this.state = requireNonNull(state, "state");
    this.lease = requireNonNull(lease, "lease");
    this.faults = requireNonNull(faults, "faults");
    method = request.method();
    onResend = request.onResend();
    pool = state.pools().to(lease.worker());
    heads = new HeadCollector(state, request.upgrades(), request.onInterim());
    losses = lease.worker().health().losses();
  }

  // Implemented by subclasses.

  /**
   * Writes the request, or the part of it that was received.
   *
   * @return true if the request is complete. It can then be sent again
   */
  protected abstract boolean send(UpstreamConnection to);

  /**
   * Reports the head of the answer. It is valid only during this call.
   *
   * @return maximum size in bytes of a body that is buffered until the answer is complete; {@link
   *     #NOT_BUFFERED} to get the answer as it arrives. A larger answer is passed on like the
   *     others
   */
  protected abstract int headArrived(ResponseHead head);

  /**
   * Reports the start of an answer that is not buffered.
   *
   * @param in the bytes after the head; ownership passes to this method
   */
  protected abstract void answers(ResponseHead head, ByteBuf in);

  /** The key in the request that was sent. Called for errors only. */
  protected abstract SentKey sentKey();

  /** Reports more bytes of the body. Their ownership passes to this method. */
  protected abstract void body(ByteBuf in);

  /** Reports the end of the call. */
  protected abstract void ended(CallResult result);

  // For subclasses and callers.

  /** The lease of the request on its worker. */
  public final Lease lease() {
    return lease;
  }

  /** The failures of the client's request. */
  public final RequestFaults faults() {
    return faults;
  }

  /** Settles the lease of a valid answer with an error in place of output. */
  protected final void settleFault(boolean busy) {
    if (busy) {
      lease.worker().restBriefly(BufferedResponse.REST_NANOS, BufferedResponse.BUSY);
      lease.ignored();
    } else {
      faults.failed(lease, Failure.ERROR, Evidence.ofAnswer(lease.worker(), true));
    }
  }

  /**
   * True if the worker has stopped to answer probes since the start of the request, and has not
   * recovered.
   */
  protected final boolean workerLost() {
    HealthState health = lease.worker().health();
    return health.losses() != losses && !health.healthy();
  }

  /** Records that the last byte of the request was sent. */
  protected final void sentWhole() {
    sentWhole = true;
    active();
  }

  /** True if the last byte of the request was sent. */
  protected final boolean wholeSent() {
    return sentWhole;
  }

  /** Records a sign of life of the worker, or bytes for it. */
  protected final void active() {
    activeAt = state.now();
  }

  /** Time of the last sign of life of the worker, or of the last bytes for it. */
  protected final long activeAt() {
    return activeAt;
  }

  protected final LoopState state() {
    return state;
  }

  protected final Phase phase() {
    return phase;
  }

  /** The connection; null before it is open and after its release. */
  public final @Nullable UpstreamConnection connection() {
    return connection;
  }

  protected final RequestHeadWriter headWriter() {
    return pool.heads();
  }

  /**
   * Takes an idle connection, or opens one.
   *
   * @param fresh true to always open a connection, because an idle one may be stale
   */
  protected final void call(boolean fresh) {
    UpstreamConnection unused = fresh ? null : pool.take(this, state.now());
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
  public final void connectFailed(Throwable cause) {
    connecting = null;
    drop();
    Shortage shortage = Shortage.of(cause);
    if (shortage != null) {
      if (shortage == Shortage.DESCRIPTORS) {
        state.server().gate().shortUntil(state.now() + SHORT_NANOS);
      }
      lease.ignored();
    } else if (resent) {
      // The engine got the request on the connection that broke, and is gone.
      faults.failed(lease, Failure.CONNECT, Evidence.ENGINE_ENDED);
      ended(new CallResult.Failed(RetryReason.RESET, ProxyError.UPSTREAM_RESET));
      return;
    } else {
      lease.failed(Failure.CONNECT);
    }
    ended(new CallResult.Failed(RetryReason.CONNECT, error(shortage)));
  }

  private static ProxyError error(@Nullable Shortage shortage) {
    return switch (shortage) {
      case null -> ProxyError.UPSTREAM_CONNECT;
      case DESCRIPTORS -> ProxyError.OUT_OF_DESCRIPTORS;
      case PORTS -> ProxyError.OUT_OF_PORTS;
    };
  }

  @Override
  public final void connected(UpstreamConnection ready) {
    connecting = null;
    connection = ready;
    pooled = ready.reused();
    phase = Phase.AWAITING_HEAD;
    sentAt = state.now();
    sentWhole = false;
    active();
    repeatable = send(ready);
    sentWhole |= repeatable;
    ready.flush();
  }

  @Override
  public final void received(ByteBuf bytes) {
    switch (phase) {
      case AWAITING_HEAD -> awaitHead(bytes);
      case HOLDING -> {
        active();
        buffer(bytes);
      }
      case ANSWERING -> {
        active();
        body(bytes);
      }
      case CONNECTING, OVER -> bytes.release();
    }
  }

  /** A partial head is no sign of life: a worker that sends it slowly has not answered. */
  private void awaitHead(ByteBuf bytes) {
    switch (heads.take(bytes)) {
      case MORE -> {}
      case COMPLETE -> begin(state.head(), heads.takeRest());
      case MALFORMED -> fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
    }
  }

  private void begin(ResponseHead head, ByteBuf in) {
    reusable = head.reusable();
    active();
    if (outputFollows(head)) {
      lease.accepted();
    } else {
      lease.progressed();
    }
    mostBuffered = headArrived(head);
    if (mostBuffered != NOT_BUFFERED && !arrivedWhole(head, in)) {
      byte[] bytes = Arrays.copyOf(state.scratch(head.length()), head.length());
      buffered =
          new BufferedResponse(
              lease.worker(),
              head,
              bytes,
              method,
              state.allocator(),
              state.server().live().retry().maxBackoff(),
              sentKey());
      phase = Phase.HOLDING;
      buffer(in);
    } else {
      phase = Phase.ANSWERING;
      answers(head, in);
    }
  }

  /**
   * True if {@code in} completes an answer that is passed on as it is. Such an answer needs no
   * buffer.
   */
  protected boolean arrivedWhole(ResponseHead head, ByteBuf in) {
    return false;
  }

  /** True if the head says nothing about output: engines send it before they compute. */
  private static boolean outputFollows(ResponseHead head) {
    return head.status() == OK && head.eventStream() && !head.encoded();
  }

  private void buffer(ByteBuf in) {
    BufferedResponse error = buffered;
    if (error == null) {
      in.release();
    } else if (!error.keep(in)) {
      fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
    } else if (error.complete()) {
      bufferedWhole(error);
    } else if (error.bytes() > mostBuffered) {
      passBuffered(error);
    }
  }

  /** The answer that is being buffered; null if there is none. */
  protected final @Nullable BufferedResponse buffered() {
    return buffered;
  }

  /** Stops to buffer {@code part}. The subclass gets it and the rest of the answer. */
  protected final void passBuffered(BufferedResponse part) {
    buffered = null;
    phase = Phase.ANSWERING;
    state.head().parse(part.head(), part.head().length);
    answers(state.head(), part.takeBody());
  }

  private void bufferedWhole(BufferedResponse error) {
    buffered = null;
    complete(error.surplus());
    if (error.engineEnded()) {
      lease.worker().shutsDown();
    }
    ended(new CallResult.Buffered(error));
  }

  /**
   * Ends a complete answer. The connection returns to the pool if it is reusable.
   *
   * @param spoiled true if the connection is not reusable
   */
  protected final void complete(boolean spoiled) {
    UpstreamConnection done = connection;
    connection = null;
    if (done != null && reusable && !spoiled && sentWhole) {
      done.release(state.now());
    } else if (done != null) {
      done.abort();
    }
    drop();
  }

  @Override
  public final void disconnected(boolean orderly) {
    connection = null;
    switch (phase) {
      case AWAITING_HEAD -> closedBeforeHead();
      case HOLDING -> closedWhileHolding(orderly);
      case ANSWERING -> ended(new CallResult.CutOff(orderly));
      case CONNECTING, OVER -> {}
    }
  }

  /**
   * A pooled connection may have been closed before the request arrived. In that case the close is
   * noticed immediately.
   */
  private void closedBeforeHead() {
    if (state.now() - sentAt > LATE_NANOS) {
      fail(RetryReason.LATE_RESET, ProxyError.UPSTREAM_RESET);
    } else if (pooled && !heads.begun() && !resent && repeatable) {
      onResend.run();
      resent = true;
      open();
    } else {
      fail(RetryReason.RESET, ProxyError.UPSTREAM_RESET);
    }
  }

  private void closedWhileHolding(boolean orderly) {
    BufferedResponse error = buffered;
    if (error != null && orderly && error.endOfConnection()) {
      bufferedWhole(error);
    } else {
      boolean computed = error != null && error.status() < 400;
      fail(computed ? resetReason() : RetryReason.RESET, ProxyError.UPSTREAM_RESET);
    }
  }

  /** Reason for the end of the connection before any output, by the time since the request. */
  protected final RetryReason resetReason() {
    return state.now() - sentAt > LATE_NANOS ? RetryReason.LATE_RESET : RetryReason.RESET;
  }

  /** Ends the request as a failure of the worker. */
  protected final void fail(RetryReason reason, ProxyError error) {
    drop();
    boolean silent = reason == RetryReason.TIMEOUT || reason == RetryReason.LOST;
    Failure failure = silent ? Failure.TIMEOUT : Failure.ERROR;
    faults.failed(lease, failure, Evidence.ofSilence(!silent));
    ended(new CallResult.Failed(reason, error));
  }

  /** Ends the request because its timeout has expired. */
  protected final void late() {
    fail(RetryReason.TIMEOUT, ProxyError.UPSTREAM_TIMEOUT);
  }

  /**
   * Cancels the request. The worker sees a closed connection.
   *
   * @param failure failure to count for the worker; null for none
   */
  protected final void giveUp(@Nullable Failure failure) {
    drop();
    if (lease.settled()) {
      return;
    }
    if (failure == null) {
      lease.ignored();
    } else {
      lease.failed(failure);
    }
  }

  /**
   * Releases the connection and all buffers. May be called more than once. Subclasses release their
   * own too.
   */
  protected void drop() {
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
    if (buffered != null) {
      buffered.release();
      buffered = null;
    }
  }
}
