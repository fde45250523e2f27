package io.pointsman.proxy.split;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.concurrent.Future;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.exchange.HeadCollector;
import io.pointsman.proxy.exchange.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.Connecting;
import io.pointsman.proxy.upstream.Descriptors;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.upstream.UpstreamPool;
import io.pointsman.proxy.upstream.UpstreamUser;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.BodyFraming.Kind;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.usage.UsageTail;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A request to one worker whose answer the router reads itself: a prefill, or a decode request that
 * only frees blocks. Holds the lease and the connection. Belongs to the event loop.
 */
final class SideLeg implements UpstreamUser {
  /** Hears once how it ended, unless it was aborted. */
  interface Owner {
    /**
     * A whole answer below 400 has come. The lease is the owner's to settle.
     *
     * @param body without framing
     */
    void answered(SideLeg leg, byte[] body);

    /** A whole error has come. The lease is the owner's to settle, the error to be let go of. */
    void refused(SideLeg leg, HeldAnswer error);

    /** There is no answer; the lease is settled. */
    void failed(SideLeg leg, RetryReason reason, ProxyError error);
  }

  private enum Phase {
    CONNECTING,
    AWAITING_HEAD,
    READING,
    HOLDING,
    OVER
  }

  /**
   * What is sent.
   *
   * @param head the whole head
   * @param timeout from now to the end of the answer; zero for no bound
   * @param maxBytes largest answer that is read
   */
  @SuppressWarnings("ArrayRecordComponent") // made, sent, forgotten
  record Message(byte[] head, byte[] body, Duration timeout, int maxBytes) {}

  private static final byte[] NOTHING = {};

  private final LoopState state;
  private final Lease lease;
  private final UpstreamPool pool;

  /** Without its bytes once the head of the answer has come, since it is not sent again then. */
  private Message message;

  private final HeadCollector heads;
  private final long startedAt;
  private Owner owner;
  private Phase phase = Phase.CONNECTING;
  private @Nullable Connecting connecting;
  private @Nullable UpstreamConnection connection;
  private @Nullable BodyFraming framing;
  private @Nullable ByteBuf body;
  private @Nullable HeldAnswer held;
  private @Nullable Future<?> timer;
  private boolean pooled;
  private boolean resent;
  private boolean reusable;
  private boolean surplus;

  /**
   * @param lease taken over
   */
  SideLeg(LoopState state, Lease lease, Message message, Owner owner) {
    this.state = state;
    this.lease = lease;
    this.message = message;
    this.owner = owner;
    pool = state.pools().to(lease.worker());
    heads = new HeadCollector(state, _ -> {});
    startedAt = state.now();
  }

  Lease lease() {
    return lease;
  }

  long nanos() {
    return state.now() - startedAt;
  }

  void start() {
    long timeout = message.timeout().toNanos();
    if (timeout > 0) {
      timer = state.loop().schedule(this::tooLate, timeout, TimeUnit.NANOSECONDS);
    }
    UpstreamConnection unused = pool.take(this, state.now());
    if (unused != null) {
      connected(unused);
    } else {
      pool.connect(this, opening -> connecting = opening);
    }
  }

  /** Whether it has ended, by whatever way. */
  boolean over() {
    return phase == Phase.OVER;
  }

  /** Whether a good answer has begun: the worker has done what it was asked. */
  boolean answering() {
    return phase == Phase.READING;
  }

  /** Goes on without whoever waited for it. */
  void detach(Owner next) {
    owner = next;
  }

  /** Ends it: the worker sees a closed connection. */
  void abort() {
    if (phase != Phase.OVER) {
      drop();
      lease.ignored();
    }
  }

  @Override
  public void connectFailed(Throwable cause) {
    connecting = null;
    drop();
    if (Descriptors.exhausted(cause)) {
      lease.ignored();
      owner.failed(this, RetryReason.CONNECT, ProxyError.OUT_OF_DESCRIPTORS);
      return;
    }
    lease.failed(Failure.CONNECT);
    owner.failed(this, RetryReason.CONNECT, ProxyError.UPSTREAM_CONNECT);
  }

  @Override
  public void connected(UpstreamConnection ready) {
    connecting = null;
    connection = ready;
    pooled = ready.reused();
    phase = Phase.AWAITING_HEAD;
    lease.dispatched();
    ready.write(Unpooled.wrappedBuffer(message.head()));
    ready.write(Unpooled.wrappedBuffer(message.body()));
    ready.flush();
  }

  @Override
  public void received(ByteBuf bytes) {
    switch (phase) {
      case AWAITING_HEAD -> {
        switch (heads.take(bytes)) {
          case MORE -> {}
          case COMPLETE -> headArrived(state.head(), heads.takeRest());
          case MALFORMED -> fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
        }
      }
      case READING -> read(bytes);
      case HOLDING -> hold(bytes);
      case CONNECTING, OVER -> bytes.release();
    }
  }

  private void headArrived(ResponseHead head, ByteBuf in) {
    reusable = head.reusable();
    message = new Message(NOTHING, NOTHING, message.timeout(), message.maxBytes());
    lease.progressed();
    if (head.status() >= 400) {
      byte[] bytes = Arrays.copyOf(state.scratch(head.length()), head.length());
      held = new HeldAnswer(lease.worker(), head, bytes, "POST", state.allocator());
      phase = Phase.HOLDING;
      hold(in);
      return;
    }
    lease.answersWell();
    BodyFraming begun = new BodyFraming(head, "POST");
    framing = begun;
    body = state.allocator().buffer(4096);
    phase = Phase.READING;
    if (begun.empty()) {
      surplus = in.isReadable();
      in.release();
      answered();
    } else {
      read(in);
    }
  }

  private void hold(ByteBuf in) {
    HeldAnswer error = held;
    if (error == null) {
      in.release();
    } else if (!error.keep(in)) {
      fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
    } else if (error.complete()) {
      refused(error);
    } else if (error.bytes() > mostBytes(error)) {
      fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
    }
  }

  /** The client's own errors reach it as they are, as far as good answers may be that large. */
  private int mostBytes(HeldAnswer error) {
    return error.status() < 500 ? message.maxBytes() : HeldAnswer.MOST_BYTES;
  }

  private void refused(HeldAnswer error) {
    held = null;
    surplus = error.surplus();
    end();
    owner.refused(this, error);
  }

  private void read(ByteBuf in) {
    BodyFraming under = framing;
    ByteBuf into = body;
    if (under == null || into == null) {
      in.release();
      return;
    }
    int from = in.readerIndex();
    int to = in.writerIndex();
    int end;
    if (under.kind() == Kind.CHUNKED) {
      end = under.chunks().scan(in, from, to, into);
    } else {
      end = under.scan(in, from, to);
      into.writeBytes(in, from, (end < 0 ? to : end) - from);
    }
    surplus |= end >= 0 && end < to;
    in.release();
    if (end == ChunkFraming.MALFORMED || into.readableBytes() > message.maxBytes()) {
      fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
    } else if (end >= 0) {
      answered();
    }
  }

  private void answered() {
    byte[] whole = body == null ? new byte[0] : ByteBufUtil.getBytes(body);
    if (lease.observed()) {
      lease.reported(UsageTail.read(whole, 0, whole.length));
    }
    end();
    owner.answered(this, whole);
  }

  @Override
  public void receivedAll() {}

  @Override
  public void disconnected(boolean orderly) {
    connection = null;
    switch (phase) {
      case AWAITING_HEAD -> closedBeforeHead();
      case READING -> {
        if (orderly && framing != null && framing.kind() == Kind.UNTIL_CLOSE) {
          answered();
        } else {
          fail(RetryReason.RESET, ProxyError.UPSTREAM_RESET);
        }
      }
      case HOLDING -> {
        HeldAnswer error = held;
        if (orderly && error != null && error.endOfConnection()) {
          refused(error);
        } else {
          fail(RetryReason.RESET, ProxyError.UPSTREAM_RESET);
        }
      }
      case CONNECTING, OVER -> {}
    }
  }

  /** A pooled connection may have been closed before the request came: sent again, once. */
  private void closedBeforeHead() {
    if (pooled && !heads.begun() && !resent) {
      resent = true;
      phase = Phase.CONNECTING;
      pool.connect(this, opening -> connecting = opening);
    } else {
      fail(RetryReason.RESET, ProxyError.UPSTREAM_RESET);
    }
  }

  private void tooLate() {
    timer = null;
    if (phase != Phase.OVER) {
      drop();
      lease.failed(Failure.TIMEOUT);
      owner.failed(this, RetryReason.TIMEOUT, ProxyError.UPSTREAM_TIMEOUT);
    }
  }

  private void fail(RetryReason reason, ProxyError error) {
    drop();
    lease.failed(Failure.ERROR);
    owner.failed(this, reason, error);
  }

  @Override
  public void writable(boolean writable) {}

  /** A whole answer has come: the connection goes back if it can serve again. */
  private void end() {
    UpstreamConnection done = connection;
    connection = null;
    if (done != null && reusable && !surplus) {
      done.release(state.now());
    } else if (done != null) {
      done.abort();
    }
    drop();
  }

  /** Lets go of the connection, the timer and every buffer. */
  private void drop() {
    phase = Phase.OVER;
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (connecting != null) {
      connecting.cancel();
      connecting = null;
    }
    if (connection != null) {
      connection.abort();
      connection = null;
    }
    heads.release();
    if (body != null) {
      body.release();
      body = null;
    }
    if (held != null) {
      held.release();
      held = null;
    }
  }
}
