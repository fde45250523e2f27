package io.pointsman.request;

import java.util.List;

/**
 * Where to look for whom a request belongs to. Names match without regard to case, and with {@code
 * -} and {@code _} equal; an empty or blank value counts as absent. The full order of precedence,
 * body fields included, is in docs/session-affinity.md.
 *
 * @param sessionHeader the header looked at before all others; default {@code x-session-id}
 * @param ownerHeaders headers that name a user or a tenant, in order, looked at after the agent
 *     frameworks' session headers; default {@code x-user-id}, {@code x-tenant-id}
 * @param requestHeaders headers whose value changes with every request, in order; looked at after
 *     everything else, and never open a session; default {@code x-correlation-id}, {@code
 *     x-request-id}, {@code x-trace-id}
 * @param sessionField the one body field that names a session where {@code sessionHeader} does not;
 *     no other header or field names one then. Empty for all that are known
 */
public record AffinitySettings(
    String sessionHeader,
    List<String> ownerHeaders,
    List<String> requestHeaders,
    String sessionField) {

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

  /** The same with another session header. */
  public AffinitySettings withSessionHeader(String name) {
    return new AffinitySettings(name, ownerHeaders, requestHeaders, sessionField);
  }
}
