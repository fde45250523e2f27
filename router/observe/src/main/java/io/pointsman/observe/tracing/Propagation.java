package io.pointsman.observe.tracing;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import io.pointsman.proxy.telemetry.TraceContext;
import io.pointsman.request.RequestHeaders;
import org.jspecify.annotations.Nullable;

/** Reads and writes trace headers in the format of W3C Trace Context. */
final class Propagation {
  private static final TextMapPropagator W3C = W3CTraceContextPropagator.getInstance();
  private static final Headers HEADERS = new Headers();

  private Propagation() {}

  /** The trace context in a request's headers; a root context if it is missing or invalid. */
  static Context from(RequestHeaders headers) {
    return W3C.extract(Context.root(), headers, HEADERS);
  }

  /** The trace headers for a request below {@code span}. */
  static TraceContext of(Span span) {
    String[] values = {"", ""};
    W3C.inject(
        Context.root().with(span),
        values,
        (into, name, value) -> {
          if (into != null) {
            into[name.equals("traceparent") ? 0 : 1] = value;
          }
        });
    return new TraceContext(values[0], values[1]);
  }

  private static final class Headers implements TextMapGetter<RequestHeaders> {
    @Override
    public @Nullable String get(@Nullable RequestHeaders headers, String name) {
      if (headers == null) {
        return null;
      }
      return name.equals("tracestate") ? joined(headers, name) : headers.first(name);
    }

    /** Joins the values, because a list may be spread over several headers. */
    private static @Nullable String joined(RequestHeaders headers, String name) {
      if (headers.first(name) == null) {
        return null;
      }
      StringBuilder all = new StringBuilder();
      headers.forEach(
          (each, value) -> {
            if (name.equalsIgnoreCase(each.toString())) {
              all.append(all.isEmpty() ? "" : ",").append(value);
            }
          });
      return all.toString();
    }
  }
}
