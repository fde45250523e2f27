package io.pointsman.observe.tracing;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.telemetry.TraceContext;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The span of a request with a response that the router itself reads. Owned by the client's event
 * loop.
 */
record TracedSide(Span span) implements SideTrace {
  /** Error type of an aborted request to a worker. */
  static final String ABORTED = "aborted";

  @Override
  public TraceContext context() {
    return Propagation.of(span);
  }

  @Override
  public void ended(int status, @Nullable RetryReason failure) {
    if (status > 0) {
      span.setAttribute(SpanKeys.STATUS, status);
    }
    if (failure != null || status >= 400) {
      String error =
          failure == null ? Integer.toString(status) : failure.name().toLowerCase(Locale.ROOT);
      span.setAttribute(SpanKeys.ERROR, error);
      span.setStatus(StatusCode.ERROR);
    }
    span.end();
  }

  @Override
  public void aborted() {
    span.setAttribute(SpanKeys.ERROR, ABORTED);
    span.end();
  }
}
