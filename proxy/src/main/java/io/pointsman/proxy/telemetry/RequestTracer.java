package io.pointsman.proxy.telemetry;

import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestHeaders;
import org.jspecify.annotations.Nullable;

/**
 * Follows requests that are meant for workers one by one. Called on event loops, many at once: must
 * not block or throw.
 */
@FunctionalInterface
public interface RequestTracer {
  /** Follows none. */
  RequestTracer NONE = (_, _, _, _) -> null;

  /**
   * The head of a request has been read.
   *
   * @param uri path with query string, as it came
   * @return who follows this request; null for nobody, and then its headers go on untouched
   */
  @Nullable RequestTrace begin(
      Endpoint endpoint, String method, String uri, RequestHeaders headers);
}
