package io.pointsman.engine.policy;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a client sent, as far as a policy asked for it by {@link ReadsRequest}. Immutable, and valid
 * as long as it is kept. Any thread.
 *
 * @param path of the request, with its query; empty if it is not known
 * @param headers the first value of each header, by its name in lower case
 * @param body the members of the JSON object in the body. A value is a {@code String}, {@code
 *     Long}, {@code Double} or {@code Boolean}, a {@code List} or a {@code Map} of such; members
 *     that are {@code null} are left out
 * @param whole false if the body goes on beyond what the router has read of it: members may be
 *     missing
 */
public record RequestFields(
    String path, Map<String, String> headers, Map<String, Object> body, boolean whole) {
  /** Of a request about which no policy asked. */
  public static final RequestFields NONE = new RequestFields("", Map.of(), Map.of(), true);

  public RequestFields {
    headers = Collections.unmodifiableMap(new LinkedHashMap<>(headers));
    body = Collections.unmodifiableMap(new LinkedHashMap<>(body));
  }

  /**
   * The first value of a header; null if the request has none, or if no policy asked for it.
   *
   * @param name in any case
   */
  public @Nullable String header(String name) {
    return headers.get(name.toLowerCase(Locale.ROOT));
  }

  /** A member of the JSON body; null if it has none, or if no policy asked for it. */
  public @Nullable Object field(String name) {
    return body.get(name);
  }

  /** Whether a policy asked for anything. */
  @SuppressWarnings("ReferenceEquality") // a request that has nothing of it was asked about too
  public boolean asked() {
    return this != NONE;
  }

  /** The same of a request by this path; {@link #NONE} stays. */
  public RequestFields at(String path) {
    return asked() ? new RequestFields(path, headers, body, whole) : this;
  }

  /** Header values may be keys of clients. */
  @Override
  public String toString() {
    return "RequestFields["
        + path
        + ", headers "
        + headers.keySet()
        + ", body "
        + body.keySet()
        + "]";
  }
}
