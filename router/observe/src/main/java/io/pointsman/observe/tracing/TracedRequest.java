package io.pointsman.observe.tracing;

import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.telemetry.AttemptTrace;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RequestTrace;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.telemetry.TraceContext;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The spans of one request: one for the client's request, with one child for each attempt on a
 * worker. Owned by the client's event loop.
 */
final class TracedRequest implements RequestTrace {
  private static final String CLIENT_LEFT = "client_left";
  private static final String CUT = "cut";

  private final Tracer tracer;
  private final Context context;
  private final Span request;
  private final String method;
  private final String path;
  private final String policy;
  private long attempts;
  private @Nullable Span attempt;

  /**
   * @param parent the client's trace context
   * @param request the started span of the request
   * @param method a standard method, or {@code _OTHER}
   */
  TracedRequest(
      Tracer tracer, Context parent, Span request, String method, String path, String policy) {
    this.tracer = tracer;
    this.request = request;
    this.method = method;
    this.path = path;
    this.policy = policy;
    context = parent.with(request);
  }

  @Override
  public AttemptTrace attempt(Worker worker) {
    Span begun = begun(worker);
    if (attempts > 0) {
      begun.setAttribute(SpanKeys.RESEND, attempts);
    }
    attempts++;
    attempt = begun;
    return new TracedAttempt(begun);
  }

  @Override
  public SideTrace side(Worker worker, SideTrace.Purpose purpose) {
    Span begun = begun(worker);
    begun.setAttribute(SpanKeys.PURPOSE, purpose.name().toLowerCase(Locale.ROOT));
    return new TracedSide(begun);
  }

  private Span begun(Worker worker) {
    Span begun =
        tracer
            .spanBuilder(Tracing.spanName(method, ""))
            .setParent(context)
            .setSpanKind(SpanKind.CLIENT)
            .startSpan();
    if (begun.isRecording()) {
      describe(begun, worker);
    }
    return begun;
  }

  private void describe(Span begun, Worker worker) {
    HostPort at = HostPort.ofUrl(worker.spec().url());
    int standard = worker.spec().url().startsWith("https:") ? 443 : 80;
    begun.setAttribute(SpanKeys.METHOD, method);
    begun.setAttribute(SpanKeys.SERVER_ADDRESS, at.host());
    begun.setAttribute(SpanKeys.SERVER_PORT, at.portOr(standard));
    begun.setAttribute(SpanKeys.URL, worker.spec().base() + path);
    begun.setAttribute(SpanKeys.WORKER, worker.id());
  }

  @Override
  public void ended(RequestReport report) {
    String error = error(report);
    // A 4xx response is the fault of the worker's client: of this router.
    boolean refused = error == null && report.result().status() >= 400;
    endAttempt(0, refused ? Integer.toString(report.result().status()) : error);
    if (request.isRecording()) {
      request.setAllAttributes(attributes(report, error));
      if (error != null && report.result().blame() != Blame.CLIENT) {
        request.setStatus(StatusCode.ERROR);
      }
    }
    request.end();
  }

  /**
   * @param status status of the response, if not yet set; 0: none
   * @param error type of the error; null: none
   */
  private void endAttempt(int status, @Nullable String error) {
    Span under = attempt;
    attempt = null;
    if (under == null) {
      return;
    }
    if (status > 0) {
      under.setAttribute(SpanKeys.STATUS, status);
    }
    if (error != null) {
      under.setAttribute(SpanKeys.ERROR, error);
      if (!error.equals(CLIENT_LEFT) && !error.equals(TracedSide.ABORTED)) {
        under.setStatus(StatusCode.ERROR);
      }
    }
    under.end();
  }

  /** The span of the current attempt. */
  private final class TracedAttempt implements AttemptTrace {
    private final Span span;

    TracedAttempt(Span span) {
      this.span = span;
    }

    @Override
    public TraceContext context() {
      return Propagation.of(span);
    }

    @Override
    public void answered(int status) {
      span.setAttribute(SpanKeys.STATUS, status);
    }

    @Override
    public void ended(int status, @Nullable RetryReason failure) {
      endAttempt(status, failure == null ? null : failure.name().toLowerCase(Locale.ROOT));
    }

    @Override
    public void aborted() {
      endAttempt(0, TracedSide.ABORTED);
    }
  }

  /** The error type of a request that failed; null if it succeeded or was itself invalid. */
  private static @Nullable String error(RequestReport report) {
    if (report.result().clientLeft()) {
      return CLIENT_LEFT;
    }
    if (report.result().status() >= 500) {
      return Integer.toString(report.result().status());
    }
    return report.result().blame() != Blame.NONE && report.result().status() < 400 ? CUT : null;
  }

  private Attributes attributes(RequestReport report, @Nullable String error) {
    AttributesBuilder all = Attributes.builder();
    all.put(SpanKeys.STATUS, (long) report.result().status());
    all.put(SpanKeys.REQUEST_ID, report.request().id());
    all.put(SpanKeys.POLICY, policy);
    all.put(SpanKeys.ATTEMPTS, (long) report.attempts());
    all.put(SpanKeys.STREAMED, report.result().streamed());
    Worker worker = report.worker();
    String model = report.model();
    if (worker != null) {
      all.put(SpanKeys.WORKER, worker.id());
    }
    if (model != null) {
      all.put(SpanKeys.MODEL, model);
    }
    if (report.times().firstByte() != RequestReport.NEVER) {
      all.put(SpanKeys.TTFT, report.times().firstByte() / 1e9);
    }
    if (report.result().blame() != Blame.NONE) {
      all.put(SpanKeys.BLAME, report.result().blame().name().toLowerCase(Locale.ROOT));
    }
    if (error != null) {
      all.put(SpanKeys.ERROR, error);
    }
    return all.build();
  }
}
