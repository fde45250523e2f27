package io.pointsman.proxy.exchange;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.handler.HandlerReport;
import io.pointsman.proxy.relay.AnswerReader;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.telemetry.AttemptTrace;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.ClientRequest;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent.PromptPrefilled;
import io.pointsman.proxy.telemetry.RequestEvent.RequestRetried;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerChosen;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RequestReport.ReportedResult;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTimes;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTraffic;
import io.pointsman.proxy.telemetry.RequestTrace;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.telemetry.TraceContext;
import io.pointsman.proxy.wire.ClientAddress;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/**
 * Record of the events of one exchange, until they are reported. Belongs to the client's event
 * loop.
 */
final class ExchangeReport implements HandlerReport {
  /** Status to report for a client that left before its answer. */
  private static final int CLIENT_LEFT = 499;

  /** Address of a client that has none. */
  private static final String UNKNOWN_CLIENT = "unknown";

  /**
   * Bytes of an answer for each token, where the engine's count is missing. Text of other languages
   * has fewer, log probabilities and other members have more.
   */
  private static final int BYTES_PER_TOKEN = 4;

  /** Header of the last request of a session. */
  private static final String SESSION_FINAL = "x-dynamo-session-final";

  private final RequestHead head;
  private final ClientRequest request;
  private final long startedAt;

  /** Trace of the request; null if there is none. */
  private final @Nullable RequestTrace trace;

  /** Trace of the current attempt; null if there is none. */
  private @Nullable AttemptTrace attempt;

  private final ProxyListener listener;
  private @Nullable String model;
  private @Nullable AffinityKey session;
  private int status = CLIENT_LEFT;
  private Blame blame = Blame.NONE;
  private @Nullable Worker worker;
  private int attempts;
  private boolean streamed;
  private boolean clientLeft;
  private long nanosToHead = RequestReport.NEVER;
  private long nanosToFirstByte = RequestReport.NEVER;
  private long bytesOut;
  private long chunksOut;
  private @Nullable String reason;
  private Usage usage = Usage.UNKNOWN;

  /** Events of the stream; -1 if they were not counted. */
  private long events = -1;

  /** Bytes of an answer that ended early; -1 for other answers. */
  private long partialBytes = -1;

  /** Id of the stored response that the answer created; null if there is none. */
  private @Nullable String created;

  ExchangeReport(
      RequestHead head,
      Endpoint endpoint,
      String requestId,
      long startedAt,
      RequestTracer tracer,
      ProxyListener listener) {
    this.listener = listener;
    this.head = head;
    request = request(head, endpoint, requestId, false);
    this.startedAt = startedAt;
    trace = tracer.begin(endpoint, head.method(), head.uri(), head);
  }

  /** The facts in the head of a request. */
  static ClientRequest request(RequestHead head, Endpoint endpoint, String id, boolean admin) {
    ClientAddress client = head.client();
    String address = client == null ? UNKNOWN_CLIENT : client.text();
    return new ClientRequest(
        endpoint, head.method(), head.uri(), id, head.identity(), address, admin);
  }

  long startedAt() {
    return startedAt;
  }

  void asks(RequestFacts facts) {
    AffinityKey key = facts.affinity();
    model = facts.model();
    session = key != null && key.kind() == AffinityKey.Kind.SESSION ? key : null;
  }

  void tries(Worker next, long now) {
    worker = next;
    attempts++;
    listener.on(new WorkerChosen(request, session, next, now - startedAt));
    if (trace != null) {
      attempt = trace.attempt(next);
    }
  }

  /** Trace headers of the current attempt, in place of the client's; null if there are none. */
  @Nullable TraceContext traceContext() {
    return attempt == null ? null : attempt.context();
  }

  @Override
  public @Nullable SideTrace sideTrace(Worker to, SideTrace.Purpose purpose, long now) {
    if (purpose == SideTrace.Purpose.PREFILL) {
      listener.on(new WorkerChosen(request, session, to, now - startedAt));
    }
    return trace == null ? null : trace.side(to, purpose);
  }

  @Override
  public void prefilled(long nanos) {
    listener.on(new PromptPrefilled(request, nanos));
  }

  @Override
  public void retried(RetryReason why) {
    listener.on(new RequestRetried(request.endpoint(), why));
  }

  /**
   * Records that the current attempt ended without the request's answer.
   *
   * @param code status of its answer; 0 for none
   */
  void gaveUp(RetryReason reason, int code) {
    unanswered();
    if (attempt != null) {
      attempt.ended(code, reason);
      attempt = null;
    }
  }

  /** Records that the current attempt, if any, was cancelled. */
  void withdrawn() {
    unanswered();
    if (attempt != null) {
      attempt.aborted();
      attempt = null;
    }
  }

  /** Discards the record of an answer that has not reached the client and will not. */
  void unanswered() {
    status = CLIENT_LEFT;
    blame = Blame.NONE;
    streamed = false;
    nanosToFirstByte = RequestReport.NEVER;
    chunksOut = 0;
  }

  void headArrived(long now) {
    nanosToHead = now - startedAt;
  }

  /**
   * Records the answer's head, which goes to the client, possibly together with the first part of
   * the body.
   */
  void answers(int code, Worker by, boolean events) {
    status = code;
    blame = code < 400 ? Blame.NONE : code < 500 ? Blame.CLIENT : Blame.UPSTREAM;
    worker = by;
    streamed = events;
    if (attempt != null) {
      attempt.answered(code);
    }
  }

  void bodyArrived(long now, boolean computed) {
    chunksOut++;
    if (nanosToFirstByte == RequestReport.NEVER && computed) {
      nanosToFirstByte = now - startedAt;
    }
  }

  void sent(long bytes) {
    bytesOut += bytes;
  }

  void leftByClient() {
    clientLeft = true;
  }

  /** Records the router's own error. */
  void fails(ProxyError error) {
    reason = error.code();
  }

  /**
   * Records the token counts of the answer.
   *
   * @param seen number of events; -1 if they were not counted
   */
  void used(Usage counts, long seen) {
    usage = counts;
    events = seen;
  }

  /**
   * Records that the client has got only a part of the answer.
   *
   * @param bytes size of that part
   */
  void endedEarly(long bytes) {
    partialBytes = bytes;
  }

  /**
   * Records the id of the stored response that the answer creates.
   *
   * @param id null if it is not known
   */
  void creates(@Nullable String id) {
    created = id;
  }

  /** Id of the stored response that the answer created; null if there is none. */
  @Nullable String created() {
    return created;
  }

  /** The report about the end of the request. */
  RequestReport ended(int code, Blame whose, long received, long now) {
    status = code;
    blame = whose;
    return new RequestReport(
        request,
        model,
        worker,
        attempts,
        new ReportedResult(code, whose, reason, streamed, clientLeft),
        new ReportedTimes(nanosToHead, nanosToFirstByte, now - startedAt),
        new ReportedTraffic(received, bytesOut, chunksOut, usage));
  }

  /** Ends the trace, if there is one. */
  void endTrace(RequestReport report) {
    if (trace != null) {
      trace.ended(report);
    }
  }

  /** The session that the client ends with this request; null if it ends none. */
  @Nullable String endedSession() {
    String ending = session == null ? null : head.first(SESSION_FINAL);
    boolean ends = ending != null && (ending.equalsIgnoreCase("true") || ending.equals("1"));
    return ends && session != null ? session.value() : null;
  }

  String requestId() {
    return request.id();
  }

  int status() {
    return status;
  }

  Blame blame() {
    return blame;
  }

  /** Worker of the last attempt; null if there was none. */
  @Nullable Worker worker() {
    return worker;
  }

  /** True if the answer is an event stream. */
  boolean streamed() {
    return streamed;
  }

  /**
   * Tokens of the prompt by the engine's count. Without a count it is the estimate, or 0 if no
   * worker has computed any of the prompt.
   */
  long promptTokens(long estimate) {
    if (usage.promptTokens() >= 0) {
      return usage.promptTokens();
    }
    boolean failed = status >= 400 && status != CLIENT_LEFT;
    return worker == null || failed ? 0 : estimate;
  }

  /** True if the engine has counted the tokens of the whole answer. */
  boolean counted() {
    return usage.completionTokens() >= 0 && partialBytes < 0;
  }

  /**
   * Tokens of the answer by the engine's count. Without a count, and in a part of a stream, each
   * event is a token. An answer in one piece that the client has left is estimated by its bytes.
   */
  long outputTokens() {
    long counts = Math.max(0, usage.completionTokens());
    if (counted()) {
      return counts;
    }
    if (streamed) {
      return Math.max(counts, events >= 0 ? events : chunksOut);
    }
    boolean estimated =
        clientLeft && counts == 0 && status < 400 && AnswerReader.generates(request.endpoint());
    return estimated && partialBytes > 0 ? partialBytes / BYTES_PER_TOKEN : counts;
  }
}
