package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.Ending;
import io.pointsman.proxy.handler.HandledRequest;
import io.pointsman.proxy.handler.HandlerReport;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.handler.ServedAnswer;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.handler.Waits;
import io.pointsman.proxy.identity.ClientOwner;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.strategy.StoredHandler;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestEvent.RequestStarted;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.PromptOrder;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A request to a worker, from its head to the end of its answer: the one owner of its steps. The
 * steps are methods in their order: receive the body, decode it if it is compressed, read it,
 * admit, place, attempt, end. A {@link RequestHandler} chooses the workers. An {@link Attempt}
 * reports one {@link AttemptResult}, which leads back to the choice or to the end. Each request
 * ends exactly once. It is one class because a second owner of steps could end a request again.
 * Belongs to the client's event loop.
 */
final class Exchange
    implements ClientStream,
        ClientExchange,
        AttemptResult.Owner,
        AdmissionPermit.Holder,
        Intake.Receiver {
  private enum Phase {
    RECEIVING,
    DECODING,
    ADMITTING,
    /** Has a worker, or is to get one. */
    TRYING,
    ENDED
  }

  private final ClientConnection client;
  private final LoopState state;
  private final ServerContext server;
  private final RequestHead head;
  private final CodedBody coded;
  private final RequestBody body;
  private final ExchangeReport report;
  private final AnswerWriter answers;
  private final ExchangeParts parts;
  private final Upload upload;
  private final Intake intake;
  private final AdmissionPermit permit;
  private final ExchangeEnd end;

  private Phase phase = Phase.RECEIVING;
  private RequestHandler handler = UnreadRequest.INSTANCE;

  /** Null before the request was read. */
  private @Nullable HandledRequest request;

  /** Null before the request was read. */
  private @Nullable AttemptContext context;

  /** The current attempt; null before the first, between two, and after the last. */
  private @Nullable Attempt current;

  /** The wait before the next attempt; null if there is none. */
  private @Nullable Future<?> timer;

  Exchange(ClientConnection client, RequestHead head) {
    this.client = client;
    this.head = head;
    state = client.state();
    server = state.server();
    RequestHandlers handlers = state.handlers().inForce();
    Endpoint endpoint = Endpoint.of(head.method(), head.uri());
    String id = server.live().requestIds().of(head);
    coded = CodedBody.of(head, endpoint, server.live().limits());
    report =
        new ExchangeReport(head, endpoint, id, state.now(), server.tracer(), server.listener());
    body =
        new RequestBody(
            head,
            state.allocator(),
            server.live().limits().maxBufferedBody(),
            client.origin().bodies(),
            !handlers.traits().editsBodies() && !coded.decodes());
    RequestFaults faults =
        new RequestFaults(
            server.faults(), id, () -> client.origin().failing(head), this::computedInOrder);
    answers = new AnswerWriter(client, head, endpoint, id, report);
    parts =
        new ExchangeParts(
            client, state, server, handlers, head, endpoint, report, body, faults, answers);
    upload = new Upload(client, state, body);
    intake = new Intake(parts, coded, this);
    permit = new AdmissionPermit(state, this);
    end = new ExchangeEnd(parts, upload, intake, permit, this::release);
  }

  /** True if engines compute the prompt in the order of arrival, as far as that is known. */
  private boolean computedInOrder() {
    KeptBody whole = body.whole();
    return whole != null && PromptOrder.isKnown(whole.copy());
  }

  @Override
  public void begin() {
    state.count(1);
    server.listener().on(new RequestStarted(parts.endpoint()));
    Reply refusal = coded.refusal();
    if (head.contentLength() > server.live().limits().maxBodyBytes()) {
      end.reply(ProxyError.BODY_TOO_LARGE, client.replies().tooLarge());
    } else if (refusal != null) {
      end.reply(ProxyError.ENCODED_BODY, refusal);
    } else if (!body.fits()) {
      end.reply(ProxyError.BUFFERS_FULL);
    }
  }

  // Receives the body.

  @Override
  public void content(ByteBuf part) {
    upload.arrived();
    UpstreamConnection worker = upload.streamingTo(current);
    if (phase == Phase.ENDED) {
      part.release();
    } else if (upload.tunnels()) {
      upload.passOn(current, part);
    } else if (body.total() + part.readableBytes() > server.live().limits().maxBodyBytes()) {
      part.release();
      refuseBody(ProxyError.BODY_TOO_LARGE, client.replies().tooLarge());
    } else if (phase != Phase.RECEIVING && intake.handoverIn(part)) {
      part.release();
      Intake.Refused refused = Intake.handoverRefused();
      refuseBody(refused.error(), refused.reply());
    } else if (current != null && worker != null) {
      body.stream(worker, part);
      current.requestMoved();
    } else if (!body.keep(part)) {
      refuseBody(ProxyError.BUFFERS_FULL, Rejections.reply(ProxyError.BUFFERS_FULL));
    } else if (phase == Phase.RECEIVING && body.outgrown()) {
      client.setReading(false);
      intake.begin();
    }
  }

  /** Refuses the body. The client gets the error if no answer has started. */
  private void refuseBody(ProxyError error, Reply reply) {
    boolean answering = current != null && current.relay() != null;
    abandon(null);
    if (answering) {
      client.breakOff(false);
      end.close(report.status(), Blame.CLIENT);
    } else {
      end.reply(error, reply);
    }
  }

  @Override
  public void contentEnd() {
    body.end();
    if (phase == Phase.RECEIVING) {
      intake.begin();
      return;
    }
    // A body above the limit may end before it is sent, while reading pauses.
    client.setReading(true);
    UpstreamConnection worker = upload.streamingTo(current);
    if (current != null && worker != null) {
      body.streamEnd(worker);
      worker.flush();
      current.requestSent();
    }
  }

  @Override
  public void contentPause() {
    upload.pause(current);
  }

  @Override
  public void contentBroken() {
    if (phase != Phase.ENDED) {
      ProxyError error = ProxyError.MALFORMED_REQUEST;
      refuseBody(error, Reply.of(error, error.message()));
    }
  }

  @Override
  public boolean received() {
    return body.complete();
  }

  @Override
  public void clientEnds() {
    upload.clientEnds(current);
  }

  // Reads the request.

  @Override
  public void read(Intake.Result result) {
    switch (result) {
      case Intake.Later _ -> phase = Phase.DECODING;
      case Intake.More _ -> client.setReading(true);
      case Intake.Refused(ProxyError error, Reply reply) -> end.reply(error, reply);
      case Intake.Accepted accepted -> accepted(accepted);
    }
  }

  private void accepted(Intake.Accepted accepted) {
    HandledRequest read =
        new HandledRequest(
            intake.head(), accepted.facts(), report.requestId(), body, parts.faults());
    request = read;
    if (accepted.facts().background()) {
      answers.background();
    }
    StoredResponse stored = accepted.stored();
    RequestHandlers handlers = parts.handlers();
    handler = stored == null ? handlers.of(this) : new StoredHandler(state, handlers, this, stored);
    phase = Phase.ADMITTING;
    if (stored != null && refusesSearch(stored)) {
      return;
    }
    if (!permit.enter(accepted.queue(), accepted.request())) {
      end.reply(ProxyError.QUEUE_FULL, Rejections.left(ProxyError.QUEUE_FULL, accepted.queue()));
    }
  }

  /** Starts the search for a stored response. Returns true if the request was refused. */
  private boolean refusesSearch(StoredResponse stored) {
    boolean several = server.engine().fleet().snapshot().workers().size() > 1;
    return switch (stored.beginSearch(several)) {
      case BEGUN -> false;
      case MISSING -> {
        end.reply(ProxyError.UNKNOWN_RESPONSE);
        yield true;
      }
      case LIMITED -> {
        ProxyError error = ProxyError.SEARCHES_LIMITED;
        end.reply(error, Reply.of(error, error.message()).retryAfter(1));
        yield true;
      }
    };
  }

  // Waits for admission.

  @Override
  public void displaced() {
    guarded(
        () -> {
          ProxyError error = ProxyError.QUEUE_DISPLACED;
          end.reply(error, Rejections.left(error, permit.admission()));
        });
  }

  @Override
  public void admitted() {
    phase = Phase.TRYING;
    // Not earlier: a request that is refused before admission is no load on workers.
    state.budget().deposit(state.now());
    place();
  }

  @Override
  public void waitedTooLong() {
    guarded(() -> waitedTooLong(ProxyError.QUEUE_TIMEOUT.message()));
  }

  void waitedTooLong(String detail) {
    ProxyError error = ProxyError.QUEUE_TIMEOUT;
    int code = permit.admission().settings().queueTimeoutStatus();
    long turn = permit.admission().nanosToTurn();
    end.reply(error, Reply.of(error, code, detail).retryAfter(turn));
  }

  /** Runs a step that the event loop calls, which would only log an exception. */
  private void guarded(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  // Tries one worker after another.

  private void place() {
    timer = null;
    try {
      handler.place();
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  @Override
  public HandledRequest request() {
    HandledRequest read = request;
    if (read == null) {
      throw new IllegalStateException("used before the request was read");
    }
    return read;
  }

  @Override
  public HandlerReport report() {
    return report;
  }

  @Override
  public void attempt(Lease lease, UpstreamRequest upstream) {
    Attempt next;
    try {
      AttemptContext with = context();
      with.retries().attempted();
      report.tries(lease.worker(), state.now());
      if (parts.faults().suspect()) {
        lease.suspect();
      }
      next = new Attempt(this, with, lease, upstream);
    } catch (RuntimeException | Error e) {
      lease.ignored();
      throw e;
    }
    current = next;
    next.start();
  }

  /** True if the answer may contain the id of a response that only its client may use. */
  private boolean isOfOwner() {
    return parts.endpoint() == Endpoint.RESPONSES
        && !parts.server().owner(parts.head()).equals(ClientOwner.EVERYBODY);
  }

  private AttemptContext context() {
    AttemptContext made = context;
    if (made == null) {
      HandledRequest read = request();
      boolean charged = intake.quota().countsTokens();
      boolean plain = charged || isOfOwner();
      boolean counts = charged || !permit.admission().unlimited();
      made =
          new AttemptContext(
              parts,
              read.facts(),
              upload,
              new RequestSender(parts, read, upload, plain),
              new Retries(parts, read.facts().model(), handler.candidates()),
              counts,
              intake.quota());
      context = made;
    }
    return made;
  }

  @Override
  public void ended(Attempt attempt, AttemptResult result) {
    switch (result) {
      case AttemptResult.Answered(int status, Relay relay) -> {
        current = null;
        answers.complete();
        end.answered(status, relay);
      }
      case AttemptResult.Refused(BufferedResponse error) -> {
        RetryReason reason = Retries.reason(error);
        fails(attempt, reason, error.status());
        goOn(attempt, reason, context().retries().refused(attempt.request(), reason, error));
      }
      case AttemptResult.Unanswered(RetryReason reason, ProxyError error) -> {
        fails(attempt, reason, 0);
        goOn(attempt, reason, context().retries().unanswered(attempt.request(), reason, error));
      }
      case AttemptResult.BrokenOff(Relay relay, ProxyError error) -> {
        current = null;
        end.brokenOff(relay, error);
      }
      case AttemptResult.ClientStalled _ -> clientStalled();
      case AttemptResult.Defective(Throwable defect) -> failed(defect);
    }
  }

  /**
   * Records the end of an attempt without the request's answer.
   *
   * @param status status of its answer; 0 for none
   */
  private void fails(Attempt attempt, RetryReason reason, int status) {
    current = null;
    attempt.request().failed(reason);
    report.gaveUp(reason, status);
  }

  /**
   * Tries again or gives up.
   *
   * @param possible true if another worker may get the request
   */
  private void goOn(Attempt failed, RetryReason reason, boolean possible) {
    Retries retries = context().retries();
    switch (retries.next(reason, possible)) {
      case AGAIN -> {
        handler.failed(failed.worker(), reason);
        report.retried(reason);
        long wait = retries.waitNanos(reason);
        if (wait == 0) {
          place();
        } else {
          later(wait, this::place);
        }
      }
      case ASK_LATER ->
          later(
              Retries.PAUSE_NANOS, () -> guarded(() -> goOn(failed, reason, retries.repeatable())));
      case GIVE_UP -> giveUp();
    }
  }

  private void later(long nanos, Runnable step) {
    timer = state.loop().schedule(step, nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public boolean withdraw() {
    Relay relay = current == null ? null : current.relay();
    if (relay != null && relay.bytesOut() > 0) {
      return false;
    }
    Relay unsent = cancel(null);
    if (unsent != null) {
      unsent.release();
    }
    report.withdrawn();
    return true;
  }

  // Ends the request.

  @Override
  public void end(Ending ending) {
    switch (ending) {
      case Ending.NoWorker(Decision.Rejected rejected, Decision.Rejected shown) ->
          noWorker(rejected, shown);
      case Ending.RouterError(ProxyError error, Reply reply) -> end.reply(error, reply);
      case Ending.RouterAnswer(Reply reply) -> end.reply(Blame.NONE, reply);
      case Ending.WorkerError(BufferedResponse error, long restSeconds) ->
          end.pass(error, restSeconds);
      case Ending.BestError _ -> giveUp();
      case Ending.Defect(Throwable defect) -> failed(defect);
    }
  }

  /** The client gets the best error of the attempts, else the reason of the rejection. */
  private void noWorker(Decision.Rejected rejected, Decision.Rejected shown) {
    Retries retries = context().retries();
    BufferedResponse error = retries.takeError();
    ProxyError failure = retries.lastError();
    if (error != null) {
      end.pass(error, retries.restSeconds(error, rejected.retryAfterNanos()));
    } else if (failure != null) {
      end.replyFailure(failure);
    } else {
      String model = request().facts().model();
      // Without an attempt, only routers are left that the request has passed.
      boolean unattempted = shown.reason() == RejectReason.ALL_TRIED && report.worker() == null;
      if (unattempted && head.viaRouters() != null) {
        end.reply(ProxyError.ROUTING_LOOP, Rejections.loop(server.router()));
      } else {
        end.reply(Rejections.error(shown.reason()), Rejections.reply(shown, model));
      }
    }
  }

  private void giveUp() {
    Retries retries = context().retries();
    BufferedResponse error = retries.takeError();
    ProxyError failure = retries.lastError();
    if (error != null) {
      end.pass(error, retries.restSeconds(error, 0));
    } else {
      end.replyFailure(failure == null ? ProxyError.NONE_AVAILABLE : failure);
    }
  }

  @Override
  public void clientGone() {
    if (phase != Phase.ENDED) {
      left();
    }
  }

  /** Ends the request because the client does not read its answer. */
  void clientStalled() {
    left();
    client.reset();
  }

  private void left() {
    report.leftByClient();
    boolean waited = handler.waits().clientLeft();
    if (!waited && current != null) {
      current.clientLeft();
    }
    abandon(null);
    end.close(report.status(), Blame.CLIENT);
  }

  /** Cancels the current attempt, and counts its partial answer. */
  private void abandon(@Nullable Failure failure) {
    Relay relay = cancel(failure);
    if (relay != null) {
      relay.release();
      report.sent(relay.bytesOut());
      if (relay.bytesOut() == 0) {
        report.unanswered();
      }
    }
  }

  /**
   * Cancels the current attempt.
   *
   * @param failure failure to count for the worker; null for none
   * @return the relay of the current answer; null if there was none
   */
  private @Nullable Relay cancel(@Nullable Failure failure) {
    Attempt under = current;
    current = null;
    if (under == null) {
      return null;
    }
    Relay relay = under.relay();
    under.abandon(failure);
    return relay;
  }

  @Override
  public void cut() {
    endEarly(ProxyError.SHUTTING_DOWN, null);
  }

  /**
   * Ends the request before its time.
   *
   * @param failure failure to count for the worker; null for none
   */
  void endEarly(ProxyError error, @Nullable Failure failure) {
    if (phase == Phase.ENDED) {
      return;
    }
    Relay relay = current == null ? null : current.relay();
    if (relay == null) {
      abandon(failure);
      end.reply(error);
    } else {
      cancel(failure);
      end.brokenOff(relay, error);
    }
  }

  /**
   * Handles an unexpected exception. The client gets an error if that is still possible, and all
   * resources are released.
   */
  @Override
  public void failed(Throwable defect) {
    end.log("failed", defect);
    Attempt under = current;
    try {
      if (!answers.reached() || (under != null && under.relay() != null)) {
        endEarly(ProxyError.INTERNAL, null);
      }
    } catch (RuntimeException | Error e) {
      end.log("failed, and the error could not be sent", e);
    }
    if (client.busyWith(this)) {
      breakOff();
    }
  }

  /** Resets the connection, because the received part of the answer is unknown. */
  private void breakOff() {
    try {
      abandon(null);
      end.close(answers.reached() ? report.status() : ProxyError.INTERNAL.status(), Blame.ROUTER);
    } catch (RuntimeException | Error e) {
      end.log("could not be ended cleanly", e);
    }
    client.reset();
  }

  /** Releases the attempts and the strategy, because the request has ended. */
  private void release(ServedAnswer answer) {
    phase = Phase.ENDED;
    intake.end();
    if (context != null) {
      context.retries().release();
    }
    parts.faults().ended();
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    handler.over(answer);
  }

  // Watches the time and the client.

  @Override
  public void checkTimeouts(long now) {
    ExchangeTimeouts.check(this, server, now);
    if (phase == Phase.TRYING) {
      handler.waits().checkWorkers();
    }
  }

  @Override
  public void clientWritable(boolean writable) {
    if (current != null) {
      current.clientWritable(writable);
    }
  }

  @Nullable Attempt attempt() {
    return current;
  }

  Upload upload() {
    return upload;
  }

  ClientConnection client() {
    return client;
  }

  long startedAt() {
    return report.startedAt();
  }

  /** True while the request waits for admission. */
  boolean admitting() {
    return phase == Phase.ADMITTING;
  }

  /** The cause for which the request waits without an attempt. */
  Waits.Cause waits() {
    return handler.waits().cause();
  }

  /** True if the answer is an event stream, or the client requested one. */
  boolean streams() {
    return upload.tunnels() || report.streamed() || intake.streams();
  }

  /** True if all received bytes were forwarded and the client must send more. */
  boolean waitsForClient() {
    return phase == Phase.RECEIVING || upload.waitsForClient(current);
  }
}
