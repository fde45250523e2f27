package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.course.Errand;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.Plane;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RequestHeadWriter;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The life of one request that is meant for a worker. Its states are methods, in the order in which
 * they happen: the body is received, read, admitted, placed, tried, and its answer relayed; a
 * failed try leads back to placing. However it goes, it ends once. Belongs to the client's event
 * loop.
 */
final class Exchange implements Conversation, Place.Holder {
  private static final Logger LOG = LoggerFactory.getLogger(Exchange.class);

  private enum Phase {
    RECEIVING,
    ADMITTING,
    TRYING,
    ENDED
  }

  private final ClientConnection client;
  private final LoopState state;
  private final Plane plane;
  private final RequestHead head;
  private final Endpoint endpoint;
  private final String requestId;
  private final RequestBody body;
  private final ExchangeReport report;
  private final Place place;
  private final AnswerWriter answers;
  private final RequestSender sender;

  private Phase phase = Phase.RECEIVING;
  private long lastReadAt;
  private @Nullable RequestFacts facts;
  private @Nullable Attempts attempts;

  Exchange(ClientConnection client, RequestHead head) {
    this.client = client;
    this.head = head;
    state = client.state();
    plane = state.plane();
    lastReadAt = state.now();
    endpoint = Endpoint.of(head.method(), head.uri());
    requestId = plane.requestIds().of(head);
    report = new ExchangeReport(head, endpoint, requestId, lastReadAt, plane.tracer());
    body =
        new RequestBody(
            head,
            state.allocator(),
            plane.limits().maxBufferedBody(),
            plane.bodies(),
            state.courses() == null);
    place = new Place(state, this);
    answers = new AnswerWriter(client, head, endpoint, requestId, report);
    sender = new RequestSender(state.allocator(), head, body, report);
  }

  @Override
  public void begin() {
    state.count(1);
    plane.listener().started(endpoint);
    if (head.contentLength() > plane.limits().maxBodyBytes()) {
      reply(ProxyError.BODY_TOO_LARGE, client.tooLarge());
    } else if (!body.fits()) {
      reply(ProxyError.BUFFERS_FULL);
    }
  }

  // Receiving the body.

  @Override
  public void content(ByteBuf part) {
    lastReadAt = state.now();
    UpstreamConnection worker = streamingTo();
    if (phase == Phase.ENDED) {
      part.release();
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

  /** The connection that a body too large to be kept goes to; null if there is none. */
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

  /** The body is not acceptable after all: told to the client, if it has no answer yet. */
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
    // What outgrew the bound may have ended before it was sent on, while reading paused.
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
    UpstreamConnection worker = streamingTo();
    if (worker != null) {
      worker.flush();
      client.setReading(body.complete() || worker.writable());
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

  // Reading what routing needs to know.

  private void read() {
    byte[] bytes = state.scratch(body.buffered());
    body.copyTo(bytes);
    RequestFacts read =
        state
            .reader()
            .read(endpoint, head, bytes, 0, body.buffered(), !body.complete())
            .at(head.uri());
    facts = read;
    report.asks(read.model());
    StoredResponse stored = StoredResponse.of(plane.owners(), endpoint, head, read);
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
    attempts = new Attempts(this, read, stored);
    admit(read.model());
  }

  // Being admitted.

  private void admit(@Nullable String model) {
    phase = Phase.ADMITTING;
    if (!place.enter(model)) {
      reply(ProxyError.QUEUE_FULL, Rejections.queueFull(place.admission()));
    }
  }

  @Override
  public void placeTaken() {
    phase = Phase.TRYING;
    if (attempts == null) {
      throw new IllegalStateException("placed before it was read");
    }
    // Not sooner: what is refused before it has a place burdens no worker.
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

  // Being tried on one worker after the other.

  /** The attempt under way; null if there is none. */
  @Nullable Attempt attempt() {
    return attempts == null ? null : attempts.current();
  }

  ExchangeReport report() {
    return report;
  }

  RequestHead head() {
    return head;
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

  /** Sends the request, or what takes its place, over a connection that is ready. */
  void send(RequestHeadWriter heads, UpstreamConnection to, @Nullable Errand errand) {
    if (sender.send(heads, to, errand)) {
      sentWhole();
    } else {
      body.beginStreaming();
      lastReadAt = state.now();
      client.setReading(to.writable());
    }
  }

  private void sentWhole() {
    Attempt attempt = attempt();
    if (attempt != null) {
      attempt.requestSent();
    }
  }

  /** The worker takes bytes again, or should get no more for now. */
  void workerWritable(boolean writable) {
    if (!body.replayable() && !body.complete()) {
      lastReadAt = state.now();
      client.setReading(writable);
    }
  }

  /**
   * Whether a worker that may have begun with it does no harm if another one, or itself, begins
   * with it again. Of a route that nobody knows only the method tells.
   */
  boolean repeatable() {
    return endpoint != Endpoint.TRANSPARENT || head.idempotent();
  }

  // Relaying the answer.

  /** The client gets the first bytes of the answer: nothing is sent again. */
  void reached() {
    if (body.complete()) {
      body.release();
    }
  }

  /** The answer has been passed on completely. */
  void answered(int code, Relay relay) {
    if (attempts != null) {
      attempts.answered(code, report.worker());
    }
    report.sent(relay.bytesOut());
    end(code, report.blame());
    client.finished(!relay.closesAfter() && body.complete());
  }

  /**
   * The client gets an error that was kept.
   *
   * @param restSeconds told as {@code Retry-After}; 0 for the worker's own
   */
  void pass(HeldAnswer held, long restSeconds) {
    body.release();
    answered(held.status(), answers.pass(held, body.complete(), restSeconds));
  }

  /**
   * The answer ends before it is complete: never silently, and with an answer of the router's own
   * where nothing of it has reached the client.
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

  // Ending.

  /** The client gets an error of the router's own. */
  void reply(ProxyError error) {
    reply(error, Rejections.reply(error));
  }

  void reply(ProxyError error, Reply reply) {
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

  /** The client does not read its answer. */
  void clientStalled() {
    left();
    client.reset();
  }

  private void left() {
    report.leftByClient();
    abandon(null);
    end(report.status(), Blame.CLIENT);
  }

  /** Ends an attempt that is under way. */
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
  }

  /** When something of the request was last read, or could be passed on. */
  long lastReadAt() {
    return lastReadAt;
  }

  /** Whether it waits to be admitted. */
  boolean admitting() {
    return phase == Phase.ADMITTING;
  }

  /** Whether it is held back because every worker is full. */
  boolean heldBack() {
    return attempts != null && attempts.heldBack();
  }

  /** Whether its answer is a stream of events, or is to become one. */
  boolean streams() {
    return report.streamed() || (facts != null && facts.stream());
  }

  /** Whether it is the client's turn to send: all that came has been passed on. */
  boolean waitsForClient() {
    UpstreamConnection worker = streamingTo();
    return phase == Phase.RECEIVING || (worker != null && !body.complete() && worker.writable());
  }

  @Override
  public void cut() {
    endEarly(ProxyError.SHUTTING_DOWN, null);
  }

  /**
   * Something threw that should not have: the client is told, as far as it can be, and everything
   * is let go of.
   */
  void failed(Throwable defect) {
    LOG.error("{} {} failed, request {}", head.method(), head.path(), requestId, defect);
    Attempt under = attempt();
    try {
      if (!answers.reached() || (under != null && under.relay() != null)) {
        endEarly(ProxyError.INTERNAL, null);
      }
    } catch (RuntimeException | Error e) {
      LOG.error(
          "{} {} failed, and the error could not be sent, request {}",
          head.method(),
          head.path(),
          requestId,
          e);
    }
    if (client.busyWith(this)) {
      breakOff();
    }
  }

  /** Nobody knows what the client has got of its answer. */
  private void breakOff() {
    try {
      abandon(null);
      end(answers.reached() ? report.status() : ProxyError.INTERNAL.status(), Blame.ROUTER);
    } catch (RuntimeException | Error e) {
      LOG.error(
          "{} {} could not be ended cleanly, request {}", head.method(), head.path(), requestId, e);
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
    place.leave();
    try {
      report.ended(code, whose, body.total(), state.now());
    } finally {
      state.count(-1);
      plane.listener().ended(report);
    }
  }

  /** What throws here must not keep the client from its answer. */
  private void endAttempts() {
    try {
      if (attempts != null) {
        attempts.end();
      }
    } catch (RuntimeException | Error e) {
      LOG.error(
          "{} {} could not be ended cleanly, request {}", head.method(), head.path(), requestId, e);
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
