package io.pointsman.proxy.exchange;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.handler.HandlerReport;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestReport;
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

/** Record of the events of one exchange. Belongs to the client's event loop. */
final class ExchangeReport implements RequestReport, HandlerReport {
  /** Status to report for a client that left before its answer. */
  private static final int CLIENT_LEFT = 499;

  /** Header of the last request of a session. */
  private static final String SESSION_FINAL = "x-dynamo-session-final";

  private final RequestHead head;
  private final Endpoint endpoint;
  private final String requestId;
  private final long startedAt;

  /** Trace of the request; null if there is none. */
  private final @Nullable RequestTrace trace;

  private final ProxyListener listener;
  private @Nullable String model;
  private @Nullable AffinityKey session;
  private int status = CLIENT_LEFT;
  private Blame blame = Blame.NONE;
  private @Nullable Worker worker;
  private int attempts;
  private boolean streamed;
  private boolean clientLeft;
  private long nanosToHead = NEVER;
  private long nanosToFirstByte = NEVER;
  private long nanosToEnd = NEVER;
  private long bytesIn;
  private long bytesOut;
  private long chunksOut;
  private @Nullable String reason;
  private Usage usage = Usage.UNKNOWN;

  ExchangeReport(
      RequestHead head,
      Endpoint endpoint,
      String requestId,
      long startedAt,
      RequestTracer tracer,
      ProxyListener listener) {
    this.listener = listener;
    this.head = head;
    this.endpoint = endpoint;
    this.requestId = requestId;
    this.startedAt = startedAt;
    trace = tracer.begin(endpoint, head.method(), head.uri(), head);
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
    listener.chosen(this, session, next, now - startedAt);
    if (trace != null) {
      trace.tries(next);
    }
  }

  /** Trace headers of the current attempt, in place of the client's; null if there are none. */
  @Nullable TraceContext traceContext() {
    return trace == null ? null : trace.context();
  }

  @Override
  public @Nullable SideTrace sideTrace(Worker to, SideTrace.Purpose purpose, long now) {
    if (purpose == SideTrace.Purpose.PREFILL) {
      listener.chosen(this, session, to, now - startedAt);
    }
    return trace == null ? null : trace.side(to, purpose);
  }

  @Override
  public void prefilled(long nanos) {
    listener.prefilled(this, nanos);
  }

  @Override
  public void retried(RetryReason why) {
    listener.retried(endpoint, why);
  }

  /**
   * Records that the current attempt ended without the request's answer.
   *
   * @param code status of its answer; 0 for none
   */
  void gaveUp(RetryReason reason, int code) {
    unanswered();
    if (trace != null) {
      trace.gaveUp(reason, code);
    }
  }

  /** Records that the current attempt, if any, was cancelled. */
  void withdrawn() {
    unanswered();
    if (trace != null) {
      trace.withdrawn();
    }
  }

  /** Discards the record of an answer that has not reached the client and will not. */
  void unanswered() {
    status = CLIENT_LEFT;
    blame = Blame.NONE;
    streamed = false;
    nanosToFirstByte = NEVER;
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
    if (trace != null) {
      trace.answered(code);
    }
  }

  void bodyArrived(long now, boolean computed) {
    chunksOut++;
    if (nanosToFirstByte == NEVER && computed) {
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

  /** Records the token counts of the answer. */
  void used(Usage counts) {
    usage = counts;
  }

  void ended(int code, Blame whose, long received, long now) {
    status = code;
    blame = whose;
    bytesIn = received;
    nanosToEnd = now - startedAt;
    if (trace != null) {
      trace.ended(this);
    }
  }

  /** The session that the client ends with this request; null if it ends none. */
  @Nullable String endedSession() {
    String ending = session == null ? null : head.first(SESSION_FINAL);
    boolean ends = ending != null && (ending.equalsIgnoreCase("true") || ending.equals("1"));
    return ends && session != null ? session.value() : null;
  }

  @Override
  public Endpoint endpoint() {
    return endpoint;
  }

  @Override
  public String method() {
    return head.method();
  }

  @Override
  public String uri() {
    return head.uri();
  }

  @Override
  public String requestId() {
    return requestId;
  }

  @Override
  public @Nullable String model() {
    return model;
  }

  @Override
  public int status() {
    return status;
  }

  @Override
  public Blame blame() {
    return blame;
  }

  @Override
  public @Nullable Worker worker() {
    return worker;
  }

  @Override
  public int attempts() {
    return attempts;
  }

  @Override
  public boolean streamed() {
    return streamed;
  }

  @Override
  public boolean clientLeft() {
    return clientLeft;
  }

  @Override
  public long nanosToHead() {
    return nanosToHead;
  }

  @Override
  public long nanosToFirstByte() {
    return nanosToFirstByte;
  }

  @Override
  public long nanosToEnd() {
    return nanosToEnd;
  }

  @Override
  public long bytesIn() {
    return bytesIn;
  }

  @Override
  public long bytesOut() {
    return bytesOut;
  }

  @Override
  public long chunksOut() {
    return chunksOut;
  }

  @Override
  public ClientIdentity identity() {
    return head.identity();
  }

  @Override
  public String client() {
    ClientAddress client = head.client();
    return client == null ? RequestReport.super.client() : client.text();
  }

  @Override
  public @Nullable String reason() {
    return reason;
  }

  @Override
  public Usage usage() {
    return usage;
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
    return worker() == null || failed ? 0 : estimate;
  }

  /** Tokens of the answer by the engine's count; without a count each chunk of a stream is one. */
  long outputTokens() {
    if (usage.completionTokens() >= 0) {
      return usage.completionTokens();
    }
    return streamed() ? chunksOut : 0;
  }
}
