package io.pointsman.proxy.call;

import static java.util.Objects.requireNonNull;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.Connecting;
import io.pointsman.proxy.upstream.Shortage;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.upstream.UpstreamPool;
import io.pointsman.proxy.upstream.UpstreamUser;
import io.pointsman.proxy.wire.RequestHeadWriter;
import io.pointsman.proxy.wire.ResponseHead;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request to one worker, up to the body of its answer: holds the lease and the connection, and
 * lets go of both on every way out. A request that a pooled connection has swallowed is sent again
 * over a fresh one, once; an error that is to be kept is gathered whole. What becomes of a body is
 * its subclass's business. Belongs to the event loop.
 */
public abstract class WorkerCall implements UpstreamUser {
  /** Phases follow each other in this order. */
  protected enum Phase {
    CONNECTING,
    AWAITING_HEAD,
    /** Keeps an error until it is complete. */
    HOLDING,
    /** The body of the answer comes. */
    ANSWERING,
    OVER
  }

  private static final long LATE_NANOS = RetrySettings.LATE.toNanos();

  private final LoopState state;
  private final Lease lease;
  private final String method;
  private final UpstreamPool pool;
  private final HeadCollector heads;
  private Phase phase = Phase.CONNECTING;
  private @Nullable Connecting connecting;
  private @Nullable UpstreamConnection connection;
  private @Nullable HeldAnswer held;
  private boolean pooled;
  private boolean resent;
  private boolean reusable;
  private long sentAt;

  /**
   * @param lease taken over
   * @param method of the request
   * @param onInterim hears of interim answers
   */
  protected WorkerCall(
      LoopState state, Lease lease, String method, Consumer<ResponseHead> onInterim) {
    this.state = requireNonNull(state, "state");
    this.lease = requireNonNull(lease, "lease");
    this.method = requireNonNull(method, "method");
    pool = state.pools().to(lease.worker());
    heads = new HeadCollector(state, onInterim);
  }

  // What subclasses say.

  /** Writes the request, or as much of it as has come. */
  protected abstract void send(UpstreamConnection to);

  /** Whether the last byte of it has been written. */
  protected abstract boolean sentWhole();

  /** Whether it can be sent once more; if so, it is. */
  protected abstract boolean resends();

  /** Something came that counts as life of the worker: a whole head, or bytes behind it. */
  protected abstract void heard();

  /**
   * The head of the answer has come, which is valid during this call.
   *
   * @return whether the answer is kept until it is complete
   */
  protected abstract boolean headArrived(ResponseHead head);

  /** Whether a kept answer, so far, may be that long. */
  protected abstract boolean fits(HeldAnswer error);

  /** A kept answer is longer than that; it and the connection go on as they are. */
  protected abstract void outgrown(HeldAnswer error);

  /** A kept answer is complete; handed over. The lease is to be settled. */
  protected abstract void refused(HeldAnswer error);

  /** An answer begins that is not kept; {@code in} is what came behind its head, handed over. */
  protected abstract void answers(ResponseHead head, ByteBuf in);

  /** More of its body; handed over. */
  protected abstract void body(ByteBuf in);

  /** The connection has ended within it. */
  protected abstract void cutOff(boolean orderly);

  /** There is no answer; the lease is settled, nothing is held any more. */
  protected abstract void failed(RetryReason reason, ProxyError error);

  /** Lets go of what the subclass holds; may be called again. */
  protected abstract void dropped();

  // What they see.

  /** Whose place it takes on the worker. */
  public final Lease lease() {
    return lease;
  }

  /** Settles the lease of an answer that is in order but for an error in place of output. */
  protected final void settleFault(boolean busy) {
    if (busy) {
      lease.worker().rest(HeldAnswer.REST_NANOS, HeldAnswer.BUSY);
      lease.ignored();
    } else {
      lease.failed(Failure.ERROR);
    }
  }

  protected final LoopState state() {
    return state;
  }

  protected final Phase phase() {
    return phase;
  }

  /** The connection that it has; null before and after. */
  public final @Nullable UpstreamConnection connection() {
    return connection;
  }

  protected final RequestHeadWriter headWriter() {
    return pool.heads();
  }

  /**
   * Takes a connection that is there, or opens one.
   *
   * @param fresh whether only a new one will do, which is certainly alive
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
    if (shortage == null) {
      lease.failed(Failure.CONNECT);
    } else {
      lease.ignored();
    }
    failed(RetryReason.CONNECT, error(shortage));
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
    send(ready);
    ready.flush();
  }

  @Override
  public final void received(ByteBuf bytes) {
    switch (phase) {
      case AWAITING_HEAD -> awaitHead(bytes);
      case HOLDING -> {
        heard();
        hold(bytes);
      }
      case ANSWERING -> {
        heard();
        body(bytes);
      }
      case CONNECTING, OVER -> bytes.release();
    }
  }

  /** A part of a head does not count as life: a worker that trickles it has not answered. */
  private void awaitHead(ByteBuf bytes) {
    switch (heads.take(bytes)) {
      case MORE -> {}
      case COMPLETE -> begin(state.head(), heads.takeRest());
      case MALFORMED -> fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
    }
  }

  private void begin(ResponseHead head, ByteBuf in) {
    reusable = head.reusable();
    heard();
    lease.progressed();
    if (headArrived(head)) {
      byte[] bytes = Arrays.copyOf(state.scratch(head.length()), head.length());
      held =
          new HeldAnswer(
              lease.worker(),
              head,
              bytes,
              method,
              state.allocator(),
              state.plane().retry().maxBackoff());
      phase = Phase.HOLDING;
      hold(in);
    } else {
      phase = Phase.ANSWERING;
      answers(head, in);
    }
  }

  private void hold(ByteBuf in) {
    HeldAnswer error = held;
    if (error == null) {
      in.release();
    } else if (!error.keep(in)) {
      fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
    } else if (error.complete()) {
      heldWhole(error);
    } else if (!fits(error)) {
      outgrown(error);
    }
  }

  /** What was kept so far is passed on after all: it is the subclass's now. */
  protected final void takeHeld() {
    held = null;
    phase = Phase.ANSWERING;
  }

  private void heldWhole(HeldAnswer error) {
    held = null;
    complete(error.surplus());
    refused(error);
  }

  /**
   * A whole answer has come: the connection goes back if it can serve again.
   *
   * @param spoiled whether it cannot in any case
   */
  protected final void complete(boolean spoiled) {
    UpstreamConnection done = connection;
    connection = null;
    if (done != null && reusable && !spoiled && sentWhole()) {
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
      case ANSWERING -> cutOff(orderly);
      case CONNECTING, OVER -> {}
    }
  }

  /** A pooled connection may have been closed before the request came, which shows at once. */
  private void closedBeforeHead() {
    if (state.now() - sentAt > LATE_NANOS) {
      fail(RetryReason.LATE_RESET, ProxyError.UPSTREAM_RESET);
    } else if (pooled && !heads.begun() && !resent && resends()) {
      resent = true;
      open();
    } else {
      fail(RetryReason.RESET, ProxyError.UPSTREAM_RESET);
    }
  }

  private void closedWhileHolding(boolean orderly) {
    HeldAnswer error = held;
    if (error != null && orderly && error.endOfConnection()) {
      heldWhole(error);
    } else {
      fail(RetryReason.RESET, ProxyError.UPSTREAM_RESET);
    }
  }

  /** It has failed, and the worker is to blame. */
  protected final void fail(RetryReason reason, ProxyError error) {
    drop();
    lease.failed(reason == RetryReason.TIMEOUT ? Failure.TIMEOUT : Failure.ERROR);
    failed(reason, error);
  }

  /** It takes too long. */
  protected final void late() {
    fail(RetryReason.TIMEOUT, ProxyError.UPSTREAM_TIMEOUT);
  }

  /**
   * Ends it from outside: the worker sees a closed connection.
   *
   * @param failure what it counts as for the worker; null for nothing
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

  /** Lets go of the connection and of every buffer. */
  protected final void drop() {
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
    dropped();
  }
}
