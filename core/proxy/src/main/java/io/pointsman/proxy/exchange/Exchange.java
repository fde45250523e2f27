package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.proxy.admission.Admission;
import io.pointsman.proxy.admission.QueuedRequest;
import io.pointsman.proxy.body.BodyDecoder;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ModelRights;
import io.pointsman.proxy.identity.Priority;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.quota.QuotaAnswer;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RequestHeadWriter;
import io.pointsman.request.Endpoint;
import io.pointsman.request.PromptOrder;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import io.pointsman.request.coding.Decoding;
import io.pointsman.request.splice.Splice;
import io.pointsman.request.strict.RerankForm;
import io.pointsman.request.strict.StrictBody;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request to a worker, from its head to the end of its answer. Its states are methods in their
 * order: receive the body, decode it if it is compressed, read it, admit, choose a worker, try,
 * relay the answer. A failed attempt leads back to the choice. Each request ends exactly once.
 * Belongs to the client's event loop.
 */
final class Exchange implements ClientStream, AdmissionPermit.Holder, BodyDecoder.Receiver {
  private static final Logger LOG = LoggerFactory.getLogger(Exchange.class);

  private static final String UNCHECKED =
      "model: cannot be checked for this API key, because the body is too long";

  private enum Phase {
    RECEIVING,
    DECODING,
    ADMITTING,
    TRYING,
    ENDED
  }

  private final ClientConnection client;
  private final LoopState state;
  private final ServerContext plane;
  private final RequestHead head;
  private final Endpoint endpoint;
  private final String requestId;
  private final CodedBody coded;
  private final RequestBody body;
  private final ExchangeReport report;
  private final AdmissionPermit place;
  private final AnswerWriter answers;
  private final RequestSender sender;
  private final RequestFaults faults;
  private final UploadRate upload = new UploadRate();
  private final RequestQuota quota = new RequestQuota();

  /** The head of the decoded body; the client's head for a body without a coding. */
  private RequestHead plainHead;

  private Phase phase = Phase.RECEIVING;
  private long lastReadAt;

  /** True after a switch to the WebSocket protocol. */
  private boolean tunnel;

  /** Bytes of the client after the switch. */
  private long tunnelled;

  private boolean clientEnded;
  private @Nullable RequestFacts facts;
  private @Nullable Attempts attempts;

  Exchange(ClientConnection client, RequestHead head) {
    this.client = client;
    this.head = head;
    state = client.state();
    plane = state.plane();
    lastReadAt = state.now();
    endpoint = Endpoint.of(head.method(), head.uri());
    plainHead = head;
    coded = CodedBody.of(head, endpoint, plane.limits());
    requestId = plane.requestIds().of(head);
    report =
        new ExchangeReport(head, endpoint, requestId, lastReadAt, plane.tracer(), plane.listener());
    body =
        new RequestBody(
            head,
            state.allocator(),
            plane.limits().maxBufferedBody(),
            client.bodies(),
            state.courses() == null && !coded.decodes());
    faults =
        new RequestFaults(
            plane.faults(), requestId, () -> client.identity(head), this::computedInOrder);
    place = new AdmissionPermit(state, this);
    answers = new AnswerWriter(client, head, endpoint, requestId, report);
    sender = new RequestSender(state.allocator(), head, body, report);
  }

  @Override
  public void begin() {
    state.count(1);
    plane.listener().started(endpoint);
    Reply refusal = coded.refusal();
    if (head.contentLength() > plane.limits().maxBodyBytes()) {
      reply(ProxyError.BODY_TOO_LARGE, client.tooLarge());
    } else if (refusal != null) {
      reply(ProxyError.ENCODED_BODY, refusal);
    } else if (!body.fits()) {
      reply(ProxyError.BUFFERS_FULL);
    }
  }

  // Receives the body.

  @Override
  public void content(ByteBuf part) {
    lastReadAt = state.now();
    UpstreamConnection worker = streamingTo();
    if (phase == Phase.ENDED) {
      part.release();
    } else if (tunnel) {
      passOn(part);
    } else if (body.total() + part.readableBytes() > plane.limits().maxBodyBytes()) {
      part.release();
      refuseBody(ProxyError.BODY_TOO_LARGE, client.tooLarge());
    } else if (worker != null) {
      body.stream(worker, part);
      attemptMoved();
    } else if (!body.keep(part)) {
      refuseBody(ProxyError.BUFFERS_FULL, Rejections.reply(ProxyError.BUFFERS_FULL));
    } else if (phase == Phase.RECEIVING && body.outgrown()) {
      client.setReading(false);
      read();
    }
  }

  /** The connection that receives a body too large to buffer; null if there is none. */
  private @Nullable UpstreamConnection streamingTo() {
    Attempt attempt = attempt();
    return body.replayable() || attempt == null ? null : attempt.connection();
  }

  private void attemptMoved() {
    Attempt attempt = attempt();
    if (attempt != null) {
      attempt.requestMoved();
    }
  }

  /** Refuses the body. The client gets the error if no answer has started. */
  private void refuseBody(ProxyError error, Reply reply) {
    Attempt attempt = attempt();
    boolean answering = attempt != null && attempt.relay() != null;
    abandon(null);
    if (answering) {
      client.breakOff(false);
      end(report.status(), Blame.CLIENT);
    } else {
      reply(error, reply);
    }
  }

  @Override
  public void contentEnd() {
    body.end();
    if (phase == Phase.RECEIVING) {
      read();
      return;
    }
    // A body above the limit may end before it is sent, while reading pauses.
    client.setReading(true);
    UpstreamConnection worker = streamingTo();
    if (worker != null) {
      body.streamEnd(worker);
      worker.flush();
      sentWhole();
    }
  }

  @Override
  public void contentPause() {
    UpstreamConnection worker = tunnel ? tunnelTo() : streamingTo();
    if (worker != null) {
      worker.flush();
      client.setReading((!tunnel && body.complete()) || worker.writable());
    }
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

  // Passes the bytes of a WebSocket.

  /** Switches to the WebSocket protocol. The client's further bytes go to the worker. */
  void tunnel() {
    tunnel = true;
    client.tunnel();
  }

  private @Nullable UpstreamConnection tunnelTo() {
    Attempt attempt = attempt();
    return attempt == null ? null : attempt.connection();
  }

  private void passOn(ByteBuf part) {
    UpstreamConnection worker = tunnelTo();
    if (worker == null) {
      part.release();
    } else {
      tunnelled += part.readableBytes();
      worker.write(part);
      attemptMoved();
    }
  }

  /** Passes the end of the client's bytes on. The worker can still answer. */
  @Override
  public void clientEnds() {
    UpstreamConnection worker = tunnelTo();
    if (worker != null) {
      clientEnded = true;
      worker.endOutput();
      attemptMoved();
    }
  }

  /** True if the client sends nothing more, but may still read. */
  boolean clientEnded() {
    return clientEnded;
  }

  // Reads the facts that routing needs.

  /** Reads the body, after its decoding if it is compressed. */
  private void read() {
    KeptBody whole = body.whole();
    if (!coded.decodes() || (body.complete() && whole == null)) {
      readPlain();
    } else if (whole == null) {
      decoded(Decoding.Result.TOO_LARGE, null);
    } else {
      phase = Phase.DECODING;
      coded.decode(whole, state, this);
    }
  }

  @Override
  public void decoded(Decoding.Result result, @Nullable KeptBody plain) {
    if (phase == Phase.ENDED) {
      if (plain != null) {
        plain.release();
      }
      return;
    }
    try {
      if (plain != null) {
        body.decoded(plain, coded.forwards(state));
        plainHead = head.decoded();
      }
      if (coded.refuses(result)) {
        reply(CodedBody.error(result), coded.reply(result));
      } else {
        readPlain();
      }
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  private void readPlain() {
    byte[] bytes = buffered();
    RequestFacts read = facts(bytes);
    String asked = read.model();
    Splice edit = plane.edits().edit(read, bytes, body.buffered(), body.complete());
    if (edit != null) {
      body.edit(edit);
      bytes = buffered();
      read = facts(bytes);
    }
    facts = read;
    report.asks(read);
    if (head.identity().restricted() && refusesModel(asked, read)) {
      return;
    }
    StoredResponse stored = StoredResponse.of(plane.owners(), endpoint, plainHead, read);
    String refusal = read.refusal();
    if (refusal == null && (stored == null || !stored.ownedByAMember(plane.engine()))) {
      int cutAfter = body.complete() ? RequestFacts.WHOLE : body.buffered();
      refusal = read.unnamed(plane.engine().modelsToName(), cutAfter);
      if (refusal != null && read.mayNameFurther() && body.keepsMore()) {
        client.setReading(true);
        return;
      }
    }
    if (refusal != null) {
      reply(ProxyError.INVALID_BODY, Reply.of(ProxyError.INVALID_BODY, refusal));
      return;
    }
    if (body.complete() && plane.limits().strictness().bodies() && refuseStrictly(bytes)) {
      return;
    }
    if (body.complete()) {
      faults.of(head.path().hashCode(), bytes, body.buffered());
    }
    if (faults.refused()) {
      ProxyError error = ProxyError.POISON_REQUEST;
      reply(error, Reply.of(error, error.message()).with("x-should-retry", "false"));
      return;
    }
    Admission queue = plane.admissions().of(read.model());
    QueuedRequest request = queued(read, queue);
    if (request == null) {
      reply(ProxyError.INVALID_PRIORITY);
      return;
    }
    QuotaAnswer.Refused limited = quota.take(plane, head, read);
    if (limited != null) {
      refuse(limited);
      return;
    }
    answers.limits(quota.headers());
    attempts = new Attempts(this, read, stored);
    if (stored != null) {
      boolean several = plane.engine().fleet().snapshot().workers().size() > 1;
      switch (stored.beginSearch(several)) {
        case BEGUN -> {}
        case MISSING -> {
          reply(ProxyError.UNKNOWN_RESPONSE);
          return;
        }
        case LIMITED -> {
          ProxyError error = ProxyError.SEARCHES_LIMITED;
          reply(error, Reply.of(error, error.message()).retryAfter(1));
          return;
        }
      }
    }
    admit(queue, request);
  }

  /**
   * Refuses a request for a model that the client may not use. True if it was refused, or if more
   * of its body is needed. The engine takes the last model that a body names, so all of it must be
   * read. Without a model a client may only read.
   *
   * @param asked the model by the client's name, which may be an alias
   */
  private boolean refusesModel(@Nullable String asked, RequestFacts read) {
    ClientIdentity identity = head.identity();
    if (!body.complete() && head.hasBody()) {
      if (body.keepsMore()) {
        client.setReading(true);
      } else {
        reply(ProxyError.MODEL_NOT_PERMITTED, Reply.of(ProxyError.MODEL_NOT_PERMITTED, UNCHECKED));
      }
      return true;
    }
    if (ModelRights.permits(identity, head.method(), head, read, asked)) {
      return false;
    }
    reply(ProxyError.MODEL_NOT_PERMITTED);
    return true;
  }

  /** Refuses a body without vllm-router's types; true if it was refused. */
  private boolean refuseStrictly(byte[] bytes) {
    StrictBody.Problem problem = StrictBody.problem(endpoint, bytes, 0, body.buffered());
    if (problem != null) {
      ProxyError error =
          problem.status() == ProxyError.UNPROCESSABLE_BODY.status()
              ? ProxyError.UNPROCESSABLE_BODY
              : ProxyError.INVALID_BODY;
      reply(error, Reply.of(error, problem.message()));
      return true;
    }
    if (endpoint == Endpoint.RERANK) {
      answers.rerank(RerankForm.of(bytes, 0, body.buffered()));
    }
    return false;
  }

  private void refuse(QuotaAnswer.Refused limited) {
    plane.listener().limited(head.identity(), limited.limit());
    reply(Rejections.error(limited), Rejections.reply(limited));
  }

  /** True if a limit of the client or the order of the queue needs the answer's token counts. */
  boolean countsTokens() {
    return quota.countsTokens() || !place.admission().unlimited();
  }

  private boolean computedInOrder() {
    KeptBody whole = body.whole();
    return whole != null && PromptOrder.isKnown(whole.copy());
  }

  private byte[] buffered() {
    byte[] bytes = state.scratch(body.buffered());
    body.copyTo(bytes);
    return bytes;
  }

  private RequestFacts facts(byte[] bytes) {
    RequestHeaders headers =
        head.identity().restricted() ? RequestReader.withoutModel(plainHead) : plainHead;
    return state
        .reader()
        .read(endpoint, headers, bytes, 0, body.buffered(), !body.complete())
        .at(head.uri());
  }

  // Waits for admission.

  private void admit(Admission queue, QueuedRequest request) {
    phase = Phase.ADMITTING;
    if (!place.enter(queue, request)) {
      reply(ProxyError.QUEUE_FULL, Rejections.left(ProxyError.QUEUE_FULL, queue));
    }
  }

  /** The request for a queue; null if it asks for an unknown priority. */
  private @Nullable QueuedRequest queued(RequestFacts read, Admission queue) {
    if (queue.unlimited()) {
      return QueuedRequest.UNNAMED;
    }
    String header = head.first(Priority.HEADER);
    Priority asked = header == null ? null : Priority.find(header);
    if (header != null && asked == null) {
      return null;
    }
    ClientIdentity client = head.identity();
    Priority priority = Priority.of(asked, client.priority(), queue.settings().maxPriority());
    return new QueuedRequest(client.kind() + " " + client.name(), priority, read.prefix().tokens());
  }

  @Override
  public void displaced() {
    try {
      ProxyError error = ProxyError.QUEUE_DISPLACED;
      reply(error, Rejections.left(error, place.admission()));
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  @Override
  public void placeTaken() {
    phase = Phase.TRYING;
    if (attempts == null) {
      throw new IllegalStateException("placed before it was read");
    }
    // Not earlier: a request that is refused before admission is no load on workers.
    state.budget().deposit(state.now());
    attempts.decide();
  }

  @Override
  public void waitedTooLong() {
    try {
      waitedTooLong(ProxyError.QUEUE_TIMEOUT.message());
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  void waitedTooLong(String detail) {
    ProxyError error = ProxyError.QUEUE_TIMEOUT;
    int code = place.admission().settings().queueTimeoutStatus();
    long turn = place.admission().nanosToTurn();
    reply(error, Reply.of(error, code, detail).retryAfter(turn));
  }

  // Tries one worker after another.

  /** The current attempt; null if there is none. */
  @Nullable Attempt attempt() {
    return attempts == null ? null : attempts.current();
  }

  ExchangeReport report() {
    return report;
  }

  Endpoint endpoint() {
    return endpoint;
  }

  /** The head of the request, without the coding of a body that was decoded. */
  RequestHead head() {
    return plainHead;
  }

  /** The failures of this request on workers. */
  RequestFaults faults() {
    return faults;
  }

  AnswerWriter answers() {
    return answers;
  }

  RequestBody body() {
    return body;
  }

  ClientConnection client() {
    return client;
  }

  LoopState state() {
    return state;
  }

  /**
   * Sends the received part of a request over an open connection.
   *
   * @return true if that is the complete request
   */
  boolean send(RequestHeadWriter heads, UpstreamConnection to, UpstreamRequest request) {
    boolean whole = sender.send(heads, to, request, plainHead);
    if (!whole) {
      body.beginStreaming();
      lastReadAt = state.now();
      client.setReading(to.writable());
    }
    return whole;
  }

  private void sentWhole() {
    Attempt attempt = attempt();
    if (attempt != null) {
      attempt.requestSent();
    }
  }

  /** Reports that the worker accepts bytes again, or should get none for the present. */
  void workerWritable(boolean writable) {
    if (tunnel || (!body.replayable() && !body.complete())) {
      lastReadAt = state.now();
      client.setReading(writable);
    }
  }

  /**
   * True if a second execution of the request does no harm after a worker may have started it. For
   * unknown routes the method decides.
   */
  boolean repeatable() {
    return endpoint != Endpoint.TRANSPARENT || head.idempotent();
  }

  // Relays the answer.

  /** Reports that the client gets the first bytes of the answer. The request is not sent again. */
  void reached() {
    if (body.complete()) {
      body.release();
    }
  }

  /** Reports that the answer was relayed completely. */
  void answered(int code, Relay relay) {
    if (attempts != null) {
      attempts.answered(code, report.worker());
    }
    report.sent(relay.bytesOut());
    end(code, report.blame());
    client.finished(!relay.closesAfter() && body.complete());
  }

  /**
   * Sends a buffered error to the client.
   *
   * @param restSeconds value of {@code Retry-After} in seconds; 0 for the worker's own
   */
  void pass(BufferedResponse held, long restSeconds) {
    body.release();
    answered(held.status(), answers.pass(held, body.complete(), restSeconds));
  }

  /**
   * Ends an incomplete answer. If no byte has reached the client, it gets an error of the router.
   * Otherwise it gets an error event or a broken connection.
   */
  void brokenOff(Relay relay, ProxyError error) {
    if (attempts != null) {
      attempts.over();
    }
    if (relay.bytesOut() == 0) {
      relay.release();
      report.unanswered();
      reply(error);
      return;
    }
    report.fails(error);
    boolean ended = relay.endWithError(error);
    relay.release();
    report.sent(relay.bytesOut());
    end(report.status(), error.blame());
    if (ended) {
      client.finished(!relay.closesAfter() && body.complete());
    } else {
      client.breakOff(relay.breakNeedsReset());
    }
  }

  // Ends the request.

  /** Ends the request with an error of the router. */
  void reply(ProxyError error) {
    reply(error, Rejections.reply(error));
  }

  void reply(ProxyError error, Reply reply) {
    report.fails(error);
    reply(error.blame(), reply);
  }

  void reply(Blame whose, Reply reply) {
    boolean keep = client.mayKeep(head, body.complete());
    ByteBuf bytes = client.render(head, requestId, reply, keep);
    report.sent(bytes.readableBytes());
    end(reply.status(), whose);
    client.write(bytes);
    client.finished(keep);
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
    if (attempts != null) {
      attempts.clientLeft();
    }
    abandon(null);
    end(report.status(), Blame.CLIENT);
  }

  /** Cancels the current attempt. */
  private void abandon(@Nullable Failure failure) {
    Relay relay = attempts == null ? null : attempts.abandon(failure);
    if (relay != null) {
      relay.release();
      report.sent(relay.bytesOut());
      if (relay.bytesOut() == 0) {
        report.unanswered();
      }
    }
  }

  @Override
  public void checkTimeouts(long now) {
    ExchangeTimeouts.check(this, plane, now);
    if (attempts != null && phase == Phase.TRYING) {
      attempts.checkWorkers();
    }
  }

  /** Time at which a part of the request was last read or could be forwarded. */
  long lastReadAt() {
    return lastReadAt;
  }

  /** True while the request waits for admission. */
  boolean admitting() {
    return phase == Phase.ADMITTING;
  }

  /** True while the request is deferred because all workers are full. */
  boolean heldBack() {
    return attempts != null && attempts.heldBack();
  }

  /** True while the request waits because no worker is available. */
  boolean awaitsWorker() {
    return attempts != null && attempts.awaitsWorker();
  }

  /** True if the answer is an event stream, or the client requested one. */
  boolean streams() {
    return tunnel || report.streamed() || (facts != null && facts.stream());
  }

  /** True after a switch to the WebSocket protocol. */
  boolean tunnels() {
    return tunnel;
  }

  /** True if the client sends the body below the minimum rate. */
  boolean sendsTooSlowly(long now) {
    return upload.tooSlow(now, waitsForClient(), body.total(), plane.limits().clients());
  }

  /** True if all received bytes were forwarded and the client must send more. */
  boolean waitsForClient() {
    UpstreamConnection worker = streamingTo();
    return phase == Phase.RECEIVING || (worker != null && !body.complete() && worker.writable());
  }

  @Override
  public void cut() {
    endEarly(ProxyError.SHUTTING_DOWN, null);
  }

  /**
   * Handles an unexpected exception. The client gets an error if that is still possible, and all
   * resources are released.
   */
  @Override
  public void failed(Throwable defect) {
    LOG.error(
        "{} {} failed, request {}",
        LogText.of(head.method()),
        LogText.of(head.path()),
        requestId,
        defect);
    Attempt under = attempt();
    try {
      if (!answers.reached() || (under != null && under.relay() != null)) {
        endEarly(ProxyError.INTERNAL, null);
      }
    } catch (RuntimeException | Error e) {
      LOG.error(
          "{} {} failed, and the error could not be sent, request {}",
          LogText.of(head.method()),
          LogText.of(head.path()),
          requestId,
          e);
    }
    if (client.busyWith(this)) {
      breakOff();
    }
  }

  /** Resets the connection, because the received part of the answer is unknown. */
  private void breakOff() {
    try {
      abandon(null);
      end(answers.reached() ? report.status() : ProxyError.INTERNAL.status(), Blame.ROUTER);
    } catch (RuntimeException | Error e) {
      LOG.error(
          "{} {} could not be ended cleanly, request {}",
          LogText.of(head.method()),
          LogText.of(head.path()),
          requestId,
          e);
    }
    client.reset();
  }

  void endEarly(ProxyError error, @Nullable Failure failure) {
    if (phase == Phase.ENDED) {
      return;
    }
    Attempt under = attempt();
    Relay relay = under == null ? null : under.relay();
    if (attempts == null || relay == null) {
      abandon(failure);
      reply(error);
      return;
    }
    attempts.abandon(failure);
    brokenOff(relay, error);
  }

  private void end(int code, Blame whose) {
    if (phase == Phase.ENDED) {
      return;
    }
    phase = Phase.ENDED;
    body.release();
    endAttempts();
    try {
      report.ended(code, whose, body.total() + tunnelled, state.now());
    } finally {
      long prompt = facts == null ? 0 : facts.prefix().tokens();
      place.leave(report.promptTokens(prompt) + report.outputTokens());
      quota.end(report, plane.ticker().nanos());
      state.count(-1);
      plane.listener().ended(report);
    }
    String session = report.endedSession();
    if (session != null) {
      plane.listener().sessionEnded(session);
    }
  }

  /** An exception here must not prevent the answer to the client. */
  private void endAttempts() {
    try {
      if (attempts != null) {
        attempts.end();
      }
    } catch (RuntimeException | Error e) {
      LOG.error(
          "{} {} could not be ended cleanly, request {}",
          LogText.of(head.method()),
          LogText.of(head.path()),
          requestId,
          e);
    }
  }

  @Override
  public void clientWritable(boolean writable) {
    Attempt attempt = attempt();
    if (attempt != null) {
      attempt.clientWritable(writable);
    }
  }
}
