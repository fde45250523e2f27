package io.pointsman.request;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;

/**
 * The headers and the body field that identify the session or owner of a request. Names match
 * without regard to case; {@code -} and {@code _} are equal. An empty or blank value counts as
 * absent. See docs/session-affinity.md for the full order of precedence.
 *
 * @param sessionHeader the header with the highest precedence; default {@code x-session-id}
 * @param ownerHeaders headers that name a user or a tenant, in order; they follow the session
 *     headers of agent frameworks; default {@code x-user-id}, {@code x-tenant-id}
 * @param requestHeaders headers that have a new value in every request, in order; they have the
 *     lowest precedence and never open a session; default {@code x-correlation-id}, {@code
 *     x-request-id}, {@code x-trace-id}
 * @param sessionField the only body field that names a session; {@code sessionHeader} precedes it,
 *     and no other header or field names a session. Empty: all known headers and fields count
 */
@RecordBuilder
public record AffinitySettings(
    String sessionHeader,
    List<String> ownerHeaders,
    List<String> requestHeaders,
    String sessionField)
    implements AffinitySettingsBuilder.With {

  public static final AffinitySettings DEFAULT =
      new AffinitySettings(
          "x-session-id",
          List.of("x-user-id", "x-tenant-id"),
          List.of("x-correlation-id", "x-request-id", "x-trace-id"),
          "");

  public AffinitySettings {
    if (sessionHeader.isBlank()) {
      throw new IllegalArgumentException("sessionHeader: blank (expected: a header name)");
    }
    ownerHeaders = List.copyOf(ownerHeaders);
    requestHeaders = List.copyOf(requestHeaders);
  }
}
