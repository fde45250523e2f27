package io.pointsman.pd.execution.step;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.concurrent.Future;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.call.CallResult;
import io.pointsman.proxy.call.WorkerCall;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.BodyFraming.Kind;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.proxy.wire.SentKey;
import io.pointsman.request.event.EngineEnd;
import io.pointsman.request.event.EventKind;
import io.pointsman.request.event.EventReader;
import io.pointsman.request.usage.AnswerScanner;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request to one worker with an answer that the router reads itself: a prefill, or a decode
 * request that only frees blocks. Belongs to the event loop.
 */
public final class PrefillRequest extends WorkerCall {
  /** Receiver of the result. It gets one call, unless the request is aborted. */
  public interface Owner {
    /**
     * Reports a complete answer with a status below 400. The owner settles the lease.
     *
     * @param body the body without framing
     */
    void answered(PrefillRequest step, byte[] body);

    /** Reports a complete error. The owner settles the lease and releases the error. */
    void refused(PrefillRequest step, BufferedResponse error);

    /**
     * Reports that there is no answer, or a stream that ends with an error. The lease is settled.
     */
    void failed(PrefillRequest step, RetryReason reason, ProxyError error);
  }

  /**
   * The request to send.
   *
   * @param head the complete head
   * @param body the body
   * @param timeout maximum time to the end of the answer; zero for none
   * @param maxBytes maximum size in bytes of the answer
   * @param key the key in the head
   */
  @SuppressWarnings("ArrayRecordComponent") // created, sent once, never compared
  public record Message(
      byte[] head, EditedBody body, Duration timeout, int maxBytes, SentKey key) {}

  private static final Logger LOG = LoggerFactory.getLogger(PrefillRequest.class);

  private static final String METHOD = "POST";

  private final LoopState state;
  private final Lease lease;
  private final @Nullable SideTrace trace;

  private final Message message;

  /** The body until the head of the answer arrives; the request is not sent again afterwards. */
  private @Nullable KeptBody unanswered;

  private final long startedAt;
  private Owner owner;
  private @Nullable BodyFraming framing;
  private @Nullable ByteBuf body;
  private @Nullable Future<?> timer;
  private boolean surplus;
  private int status;

  /** True if the owner has its result, or aborted the request. */
  private boolean reported;

  /** True if the answer is a readable event stream. */
  private boolean events;

  /**
   * @param lease ownership passes to this object
   * @param faults failures of the client's request
   * @param trace trace of the request; null for none
   */
  public PrefillRequest(
      LoopState state,
      Lease lease,
      RequestFaults faults,
      Message message,
      @Nullable SideTrace trace,
      Owner owner) {
    super(state, lease, faults, new Request(METHOD, false, _ -> {}, () -> {}));
    this.state = state;
    this.lease = lease;
    this.message = message;
    this.trace = trace;
    this.owner = owner;
    startedAt = state.now();
  }

  /** Nanoseconds since the creation of this object. */
  public long nanos() {
    return state.now() - startedAt;
  }

  /** Starts the request on an idle connection, or a new one. */
  public void start() {
    start(false);
  }

  /** Starts the request on a new connection, because it must not be sent twice. */
  public void startOnce() {
    start(true);
  }

  private void start(boolean fresh) {
    KeptBody sending = message.body().original();
    sending.retain();
    unanswered = sending;
    long timeout = message.timeout().toNanos();
    if (timeout > 0) {
      timer = state.loop().schedule(this::late, timeout, TimeUnit.NANOSECONDS);
    }
    call(fresh);
  }

  /** True if the request has ended in any way. */
  public boolean over() {
    return phase() == Phase.OVER;
  }

  /** True if a successful answer has started. The worker has then done its work. */
  public boolean answering() {
    return phase() == Phase.ANSWERING;
  }

  /**
   * Reports that the client left. Without an answer so far, that is evidence of a stall of the
   * worker.
   *
   * @return true if there is no answer so far
   */
  public boolean clientLeft() {
    boolean waits = phase() == Phase.CONNECTING || phase() == Phase.AWAITING_HEAD || noBytes();
    if (waits && phase() != Phase.CONNECTING) {
      lease.clientLeft();
    }
    return waits;
  }

  private boolean noBytes() {
    return phase() == Phase.ANSWERING && (body == null || !body.isReadable());
  }

  /** True if the worker is lost and no part of an answer's body has arrived. */
  public boolean lost() {
    return workerLost() && (phase() == Phase.AWAITING_HEAD || noBytes());
  }

  /** Ends the request, because its worker is {@link #lost}. */
  public void leaveWorker() {
    fail(RetryReason.LOST, ProxyError.UPSTREAM_TIMEOUT);
  }

  /** Passes the result to another owner. */
  public void detach(Owner next) {
    owner = next;
  }

  /** Cancels the request. The worker sees a closed connection. */
  public void abort() {
    boolean ended = over();
    reported = true;
    giveUp(null);
    if (trace != null && !ended) {
      trace.aborted();
    }
  }

  /**
   * @param failure reason why there is no complete answer; null if there is one
   */
  private void traced(@Nullable RetryReason failure) {
    if (trace != null) {
      trace.ended(status, failure);
    }
  }

  @Override
  protected boolean send(UpstreamConnection to) {
    lease.dispatched();
    to.write(Unpooled.wrappedBuffer(message.head()));
    message.body().slices(state.allocator()).forEach(to::write);
    return true;
  }

  /** The client gets its own errors unchanged, up to the size of successful answers. */
  @Override
  protected int headArrived(ResponseHead head) {
    status = head.status();
    letRequestGo();
    if (status < 400) {
      return NOT_BUFFERED;
    }
    return status < 500 ? message.maxBytes() : BufferedResponse.MOST_BYTES;
  }

  @Override
  protected SentKey sentKey() {
    return message.key();
  }

  private void letRequestGo() {
    KeptBody sent = unanswered;
    unanswered = null;
    if (sent != null) {
      sent.release();
    }
  }

  @Override
  protected void ended(CallResult result) {
    switch (result) {
      case CallResult.Buffered(BufferedResponse error) -> {
        traced(null);
        reported = true;
        owner.refused(this, error);
      }
      case CallResult.CutOff(boolean orderly) -> cutOff(orderly);
      case CallResult.Failed(RetryReason reason, ProxyError error) -> failed(reason, error);
    }
  }

  @Override
  protected void answers(ResponseHead head, ByteBuf in) {
    if (status >= 400) {
      in.release();
      fail(RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
      return;
    }
    lease.answersWell();
    events = head.eventStream() && !head.encoded();
    BodyFraming begun = new BodyFraming(head, METHOD);
    framing = begun;
    body = state.allocator().buffer(4096);
    if (begun.empty()) {
      surplus = in.isReadable();
      in.release();
      answered();
    } else {
      body(in);
    }
  }

  @Override
  protected void body(ByteBuf in) {
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
    EventKind ending = events ? EventReader.ending(whole) : EventKind.OUTPUT;
    AnswerScanner scanner = new AnswerScanner(AnswerScanner.Form.ANY);
    scanner.read(whole, 0, whole.length);
    if (ending.failed()) {
      EngineEnd end = scanner.engineEnd();
      if (end != EngineEnd.NONE) {
        lease.worker().shutsDown();
      }
      failedBehindHead(ending == EventKind.BUSY || end == EngineEnd.SHUTDOWN);
      return;
    }
    if (scanner.aborted()) {
      aborted();
      return;
    }
    if (lease.observed()) {
      // The request is for one token, so the prompt is computed.
      lease.firstToken();
      lease.reported(scanner.usage());
    }
    complete(surplus);
    traced(null);
    reported = true;
    owner.answered(this, whole);
  }

  /** The engine shut down before the prompt was computed. */
  private void aborted() {
    complete(surplus);
    lease.worker().shutsDown();
    lease.ignored();
    failed(RetryReason.ABORTED, ProxyError.UPSTREAM_ABORTED);
  }

  /** SGLang sends the head of a stream before its scheduler may abort the request. */
  private void failedBehindHead(boolean busy) {
    complete(surplus);
    settleFault(busy);
    failed(
        busy ? RetryReason.BUSY : RetryReason.STATUS,
        busy ? ProxyError.ALL_BUSY : ProxyError.UPSTREAM_BROKE_OFF);
  }

  private void cutOff(boolean orderly) {
    if (orderly && framing != null && framing.kind() == Kind.UNTIL_CLOSE) {
      answered();
    } else {
      fail(RetryReason.RESET, ProxyError.UPSTREAM_RESET);
    }
  }

  private void failed(RetryReason reason, ProxyError error) {
    traced(reason);
    reported = true;
    owner.failed(this, reason, error);
  }

  /** The worker is not to blame. The request may continue without this one. */
  @Override
  public void defective(Throwable defect) {
    LOG.error("a request to {} failed", lease.worker(), defect);
    boolean ended = over();
    giveUp(null);
    if (!reported) {
      reported = true;
      owner.failed(this, RetryReason.RESET, ProxyError.INTERNAL);
    }
    if (!ended) {
      traced(RetryReason.RESET);
    }
  }

  @Override
  public void receivedAll() {}

  @Override
  public void writable(boolean writable) {}

  @Override
  protected void drop() {
    super.drop();
    letRequestGo();
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (body != null) {
      body.release();
      body = null;
    }
  }
}
