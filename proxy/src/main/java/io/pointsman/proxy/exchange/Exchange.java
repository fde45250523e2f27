package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.retry.RetryPlan;
import io.pointsman.proxy.stored.ResponseIdSniffer;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RequestHeadWriter;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The life of one request that is meant for a worker. Its states are methods, in the order in which
 * they happen: the body is received, read, admitted, placed, tried, and its answer relayed; a
 * failed try leads back to placing. However it goes, it ends once. Belongs to the client's event
 * loop.
 */
final class Exchange implements Conversation, Place.Holder {
  private enum Phase {
    RECEIVING,
    ADMITTING,
    TRYING,
    BACKING_OFF,
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
  private final RetryPlan retries;
  private final Place place;
  private final AnswerWriter answers;

  private Phase phase = Phase.RECEIVING;
  private long lastReadAt;
  private @Nullable RequestFacts facts;
  private @Nullable RoutingRequest routing;
  private @Nullable StoredResponse stored;
  private @Nullable Future<?> timer;
  private @Nullable Attempt attempt;
  private @Nullable ResponseIdSniffer sniffer;

  Exchange(ClientConnection client, RequestHead head) {
    this.client = client;
    this.head = head;
    state = client.state();
    plane = state.plane();
    lastReadAt = state.now();
    endpoint = Endpoint.of(head.method(), head.uri());
    requestId = plane.requestIds().of(head);
    report = new ExchangeReport(head, endpoint, requestId, lastReadAt);
    body = new RequestBody(head, state.allocator(), plane.limits().maxBufferedBody());
    retries = new RetryPlan(plane.retry(), plane.backoff(), state.budget());
    place = new Place(state, this);
    answers = new AnswerWriter(client, head, requestId, report);
  }

  @Override
  public void begin() {
    state.count(1);
    plane.listener().started(endpoint);
    state.budget().deposit();
    if (head.contentLength() > plane.limits().maxBodyBytes()) {
      reply(ProxyError.BODY_TOO_LARGE, client.tooLarge());
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
    } else {
      body.keep(part);
      if (phase == Phase.RECEIVING && body.outgrown()) {
        client.setReading(false);
        read();
      }
    }
  }

  /** The connection that a body too large to be kept goes to; null if there is none. */
  private @Nullable UpstreamConnection streamingTo() {
    return body.replayable() || attempt == null ? null : attempt.connection();
  }

  private void attemptMoved() {
    if (attempt != null) {
      attempt.requestMoved();
    }
  }

  /** The body is not acceptable after all: told to the client, if it has no answer yet. */
  private void refuseBody(ProxyError error, Reply reply) {
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
    if (worker != null && attempt != null) {
      body.streamEnd(worker);
      worker.flush();
      attempt.requestSent();
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
        state.reader().read(endpoint, head, bytes, 0, body.buffered(), !body.complete());
    facts = read;
    report.asks(read.model());
    String refusal = read.refusal();
    if (refusal != null) {
      reply(ProxyError.INVALID_BODY, Reply.of(ProxyError.INVALID_BODY, refusal));
      return;
    }
    if (endpoint == Endpoint.RESPONSES) {
      sniffer = new ResponseIdSniffer();
    }
    stored = StoredResponse.of(plane.owners(), endpoint, head, read);
    routing = read.toRoutingRequest(Role.REGULAR, stored == null ? null : stored.owner());
    admit();
  }

  // Being admitted.

  private void admit() {
    phase = Phase.ADMITTING;
    if (!place.enter()) {
      ProxyError error = ProxyError.QUEUE_FULL;
      long turn = plane.admission().nanosToTurn();
      reply(error, Reply.of(error, error.message()).retryAfter(turn));
    }
  }

  @Override
  public void placeTaken() {
    decide();
  }

  @Override
  public void waitedTooLong() {
    ProxyError error = ProxyError.QUEUE_TIMEOUT;
    int code = plane.admission().settings().queueTimeoutStatus();
    reply(error, Reply.of(error, code, error.message()).retryAfter(0));
  }

  // Being placed.

  private void decide() {
    phase = Phase.TRYING;
    timer = null;
    RoutingRequest request = routing;
    if (request == null) {
      throw new IllegalStateException("decided before it was read");
    }
    switch (plane.engine().decide(request)) {
      case Decision.Routed routed -> {
        retries.attempted();
        report.tries(routed.worker());
        Attempt next = new Attempt(this, routed.lease());
        attempt = next;
        next.start();
      }
      case Decision.Rejected rejected -> noWorker(rejected);
    }
  }

  private void noWorker(Decision.Rejected rejected) {
    StoredResponse search = stored;
    if (search != null && facts != null && search.forgetIfGone(plane.engine())) {
      routing = facts.toRoutingRequest(Role.REGULAR);
      decide();
      return;
    }
    HeldAnswer held = retries.takeHeld();
    if (held != null) {
      pass(held, rejected.retryAfterNanos());
      return;
    }
    ProxyError failure = retries.lastError();
    if (failure != null) {
      reply(failure);
      return;
    }
    reply(
        Rejections.error(rejected.reason()),
        Rejections.reply(rejected, report.model(), plane.busy().status()));
  }

  // Being tried on a worker.

  String method() {
    return head.method();
  }

  LoopState state() {
    return state;
  }

  /** Sends the request over a connection that is ready. */
  void send(RequestHeadWriter heads, UpstreamConnection to) {
    int room = head.uri().length() + 512 + head.headers().size() * 48 + body.buffered();
    ByteBuf out = state.allocator().buffer(Math.min(room, RequestBody.MOST_IN_ONE_BUFFER));
    heads.write(out, head, requestId, body.announced());
    body.send(to, out);
    if (body.complete()) {
      sentWhole();
    } else {
      body.beginStreaming();
      lastReadAt = state.now();
      client.setReading(to.writable());
    }
  }

  private void sentWhole() {
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

  boolean replayable() {
    return body.replayable();
  }

  /** The same request goes to the same worker over a fresh connection. */
  void resends() {
    plane.listener().retried(endpoint, RetryReason.STALE);
  }

  /** Passes an interim answer (103 and its like) on, to a client whose protocol knows them. */
  void interim(ResponseHead answer) {
    if (!head.http10()) {
      ByteBuf bytes = state.allocator().buffer(answer.length() + 16);
      answer.writeTo(bytes);
      bytes.writeShort('\r' << 8 | '\n');
      report.sent(bytes.readableBytes());
      client.write(bytes);
      client.flush();
    }
  }

  void headArrived(long now) {
    report.headArrived(now);
  }

  /** Whether part of the body has been let go, or will be, as it is sent. */
  boolean sendsOnce() {
    return !body.complete();
  }

  /**
   * Whether an answer with this status is kept until it is complete: another worker might do
   * better, or only its body tells whether the worker is busy or broken.
   */
  boolean holds(int code) {
    boolean searching = code == 404 && stored != null && stored.searching();
    boolean again = body.replayable() && (searching || retries.mayRetryAfter(code));
    return again || code == 429 || code == 503;
  }

  /** An attempt has ended without an answer. */
  void attemptFailed(Attempt failed, RetryReason reason, ProxyError error) {
    attempt = null;
    retries.failed(error);
    boolean again = reason != RetryReason.TIMEOUT || plane.retry().afterTimeout();
    tryAgainOrGiveUp(failed.worker(), reason, again && body.replayable());
  }

  /** An attempt has ended with an error that the client gets if nobody does better. */
  void attemptHeld(Attempt failed, HeldAnswer held) {
    attempt = null;
    RetryReason reason =
        held.status() == 404
            ? RetryReason.NOT_THERE
            : held.busy() ? RetryReason.BUSY : RetryReason.STATUS;
    if (held.busy()) {
      plane.busy().said(held.status());
    }
    retries.hold(held);
    tryAgainOrGiveUp(failed.worker(), reason, body.replayable());
  }

  private void tryAgainOrGiveUp(Worker failed, RetryReason reason, boolean possible) {
    RoutingRequest request = routing;
    if (request == null || !possible || !retries.another(reason, state.now())) {
      giveUp();
      return;
    }
    request.exclude(failed);
    plane.listener().retried(endpoint, reason);
    long wait = retries.waitNanos(reason);
    if (wait == 0) {
      decide();
    } else {
      phase = Phase.BACKING_OFF;
      timer = state.loop().schedule(this::decide, wait, TimeUnit.NANOSECONDS);
    }
  }

  private void giveUp() {
    HeldAnswer held = retries.takeHeld();
    ProxyError failure = retries.lastError();
    if (held != null) {
      pass(held, 0);
    } else {
      reply(failure == null ? ProxyError.NONE_AVAILABLE : failure);
    }
  }

  // Relaying the answer.

  /** Begins to pass the answer on. */
  ResponseRelay beginRelay(Attempt from, ResponseHead answer) {
    retries.release();
    if (body.complete()) {
      body.release();
    }
    return answers.open(from.worker(), answer, body.complete(), "");
  }

  /** A part of the answer's body is about to be passed on. */
  void bodyArrived(ByteBuf bytes, long now) {
    report.bodyArrived(now);
    ResponseIdSniffer learning = sniffer;
    if (learning != null && attempt != null && report.status() < 300) {
      String id = learning.sniff(bytes);
      if (id != null) {
        plane.owners().learn(id, attempt.worker().id());
        sniffer = null;
      }
    }
  }

  boolean clientWritable() {
    return client.writable();
  }

  void flush() {
    client.flush();
  }

  /** The answer has been passed on completely. */
  void answered(int code, ResponseRelay relay) {
    attempt = null;
    Worker by = report.worker();
    if (stored != null && by != null) {
      stored.answered(code, by);
    }
    report.sent(relay.bytesOut());
    end(code, report.blame());
    client.finished(!relay.closesAfter() && body.complete());
  }

  /** The client gets an error that was kept. */
  private void pass(HeldAnswer held, long restNanos) {
    body.release();
    long seconds = held.busy() ? retries.shortestRestSeconds(restNanos) : 0;
    answered(held.status(), answers.pass(held, body.complete(), seconds));
  }

  /** The worker did not complete its answer: never a silent end. */
  void brokenOff(ResponseRelay relay, ProxyError error) {
    attempt = null;
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

  private void reply(ProxyError error) {
    reply(error, Reply.of(error, error.message()));
  }

  private void reply(ProxyError error, Reply reply) {
    boolean keep = client.mayKeep(head, body.complete());
    ByteBuf bytes = client.render(head, requestId, reply, keep);
    report.sent(bytes.readableBytes());
    end(reply.status(), error.blame());
    client.write(bytes);
    client.finished(keep);
  }

  @Override
  public void clientGone() {
    if (phase == Phase.ENDED) {
      return;
    }
    report.leftByClient();
    abandon(null);
    end(report.status(), Blame.CLIENT);
  }

  /** The client does not read its answer. */
  void clientStalled() {
    report.leftByClient();
    abandon(null);
    end(report.status(), Blame.CLIENT);
    client.breakOff(true);
  }

  /** Ends an attempt that is under way. */
  private void abandon(@Nullable Failure failure) {
    Attempt under = attempt;
    attempt = null;
    if (under != null) {
      ResponseRelay relay = under.relay();
      under.abandon(failure);
      if (relay != null) {
        relay.release();
        report.sent(relay.bytesOut());
      }
    }
  }

  private void cancelTimer() {
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }

  @Override
  public void checkTimeouts(long now) {
    TimeoutSettings timeouts = plane.timeouts();
    if (waitsForClient() && over(now - lastReadAt, timeouts.clientBody().toNanos())) {
      endEarly(ProxyError.REQUEST_TIMEOUT, null);
    } else if (over(now - report.startedAt(), totalNanos(timeouts))) {
      totalTimeout();
    } else if (attempt != null) {
      attempt.checkTimeouts(now, timeouts, plane.sseKeepalive().toNanos());
    }
  }

  /** Whether it is the client's turn to send: all that came has been passed on. */
  boolean waitsForClient() {
    UpstreamConnection worker = streamingTo();
    return phase == Phase.RECEIVING || (worker != null && !body.complete() && worker.writable());
  }

  private long totalNanos(TimeoutSettings timeouts) {
    boolean streams = report.streamed() || (facts != null && facts.stream());
    return (streams ? timeouts.streamTotal() : timeouts.total()).toNanos();
  }

  private static boolean over(long passed, long timeout) {
    return timeout > 0 && passed > timeout;
  }

  private void totalTimeout() {
    endEarly(ProxyError.TOTAL_TIMEOUT, Failure.TIMEOUT);
  }

  @Override
  public void cut() {
    endEarly(ProxyError.SHUTTING_DOWN, null);
  }

  private void endEarly(ProxyError error, @Nullable Failure failure) {
    if (phase == Phase.ENDED) {
      return;
    }
    Attempt under = attempt;
    ResponseRelay relay = under == null ? null : under.relay();
    if (under == null || relay == null) {
      abandon(failure);
      reply(error);
      return;
    }
    under.abandon(failure);
    brokenOff(relay, error);
  }

  private void end(int code, Blame whose) {
    if (phase == Phase.ENDED) {
      return;
    }
    phase = Phase.ENDED;
    cancelTimer();
    body.release();
    retries.release();
    place.leave();
    report.ended(code, whose, body.total(), state.now());
    state.count(-1);
    plane.listener().ended(report);
  }

  @Override
  public void clientWritable(boolean writable) {
    if (attempt != null) {
      attempt.clientWritable(writable);
    }
  }
}
