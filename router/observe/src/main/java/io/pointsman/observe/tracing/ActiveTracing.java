package io.pointsman.observe.tracing;

import io.pointsman.config.settings.TracingSettings;
import io.pointsman.proxy.telemetry.RequestTracer;

/** Tracing with one exporter. Its users need no class of OpenTelemetry while nothing is traced. */
public interface ActiveTracing extends RequestTracer, AutoCloseable {
  /** Uses other shares and excluded paths for traces that begin later. Any thread. */
  void use(TracingSettings next);

  /** Ends when the requests that it traces have ended, and exports their spans. Does not wait. */
  void retire();

  /** True if it has ended. */
  boolean ended();

  /** Exports the queued spans, for at most 3 s, and stops tracing. */
  @Override
  void close();
}
