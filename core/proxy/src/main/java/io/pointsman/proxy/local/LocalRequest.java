package io.pointsman.proxy.local;

import io.pointsman.proxy.identity.ClientIdentity;
import java.io.InputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A request to an endpoint of the router.
 *
 * @param method HTTP method
 * @param path percent-encoded path without the query string
 * @param query query string without the question mark; empty if there is none
 * @param headers values by lower-case name, in order of arrival
 * @param body the body, within the limits of the listener; not copied
 * @param truncated true if the client's body continues after {@code body}
 * @param requestId value of {@code x-request-id} in the answer
 * @param caller right of the caller
 * @param callerName name of the caller's key; empty if it has none
 * @param client the client that sent the request
 * @param stream the body of an endpoint that reads it as a stream, to be read on the endpoint's
 *     thread; null for all others
 */
@SuppressWarnings("ArrayRecordComponent") // handed over, never compared
public record LocalRequest(
    String method,
    String path,
    String query,
    Map<String, List<String>> headers,
    byte[] body,
    boolean truncated,
    String requestId,
    Caller.Kind caller,
    String callerName,
    ClientIdentity client,
    @Nullable InputStream stream) {

  /** A request of a caller without a name. */
  public LocalRequest(
      String method,
      String path,
      String query,
      Map<String, List<String>> headers,
      byte[] body,
      boolean truncated,
      String requestId,
      Caller.Kind caller,
      @Nullable InputStream stream) {
    this(
        method,
        path,
        query,
        headers,
        body,
        truncated,
        requestId,
        caller,
        "",
        ClientIdentity.UNKNOWN,
        stream);
  }

  /** A request with its body in memory, of a caller without a key of the router. */
  public LocalRequest(
      String method,
      String path,
      String query,
      Map<String, List<String>> headers,
      byte[] body,
      boolean truncated,
      String requestId) {
    this(method, path, query, headers, body, truncated, requestId, Caller.Kind.OPEN, null);
  }

  /** A request with a complete body. */
  public LocalRequest(
      String method,
      String path,
      String query,
      Map<String, List<String>> headers,
      byte[] body,
      String requestId) {
    this(method, path, query, headers, body, false, requestId);
  }

  /** The same request of this client. */
  public LocalRequest of(ClientIdentity other) {
    return new LocalRequest(
        method,
        path,
        query,
        headers,
        body,
        truncated,
        requestId,
        caller,
        callerName,
        other,
        stream);
  }

  /** The first value of a header; null if it is absent. */
  public @Nullable String header(String name) {
    List<String> values = headers.get(name.toLowerCase(Locale.ROOT));
    return values == null || values.isEmpty() ? null : values.getFirst();
  }

  /** The first value of a query parameter, decoded; null if it is absent. */
  public @Nullable String parameter(String name) {
    for (String pair : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      String key = equals < 0 ? pair : pair.substring(0, equals);
      if (decode(key).equals(name)) {
        return equals < 0 ? "" : decode(pair.substring(equals + 1));
      }
    }
    return null;
  }

  /** The names of the query parameters, decoded, in their order. */
  public Set<String> parameters() {
    Set<String> names = new LinkedHashSet<>();
    for (String pair : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      names.add(decode(equals < 0 ? pair : pair.substring(0, equals)));
    }
    names.remove("");
    return names;
  }

  /** The path after {@code prefix}, decoded; empty if the path equals the prefix. */
  public String pathAfter(String prefix) {
    return decode(path.substring(Math.min(prefix.length(), path.length())).replace("+", "%2B"));
  }

  private static String decode(String text) {
    try {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return text;
    }
  }
}
