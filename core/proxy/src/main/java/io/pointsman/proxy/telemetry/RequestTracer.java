package io.pointsman.proxy.telemetry;

import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestHeaders;
import org.jspecify.annotations.Nullable;

/**
 * Source of traces for requests to workers. Called on event loops, by several threads; must not
 * block or throw.
 */
@FunctionalInterface
public interface RequestTracer {
  /** Traces no requests. */
  RequestTracer NONE = (_, _, _, _) -> null;

  /**
   * Reports that the head of a request was read.
   *
   * @param uri path with query string, unchanged
   * @return trace of the request; null for none, and its trace headers are then forwarded unchanged
   */
  @Nullable RequestTrace begin(
      Endpoint endpoint, String method, String uri, RequestHeaders headers);
}
