package io.pointsman.engine.policy;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a client's request that a policy asked for by {@link ReadsRequest}. Immutable; may
 * be kept. Any thread.
 *
 * @param path of the request, with its query; empty if unknown
 * @param headers the first value of each header, by its name in lower case
 * @param body the members of the JSON object in the body. A value is a {@code String}, {@code
 *     Long}, {@code Double}, {@code Boolean}, or a {@code List} or {@code Map} of values; members
 *     that are {@code null} are omitted.
 * @param whole false if the router has read only a part of the body; members may then be missing
 */
public record RequestFields(
    String path, Map<String, String> headers, Map<String, Object> body, boolean whole) {
  /** The fields if no policy asked for any. */
  public static final RequestFields NONE = new RequestFields("", Map.of(), Map.of(), true);

  public RequestFields {
    headers = Collections.unmodifiableMap(new LinkedHashMap<>(headers));
    body = Collections.unmodifiableMap(new LinkedHashMap<>(body));
  }

  /**
   * Returns the first value of a header; null if it is absent or no policy asked for it.
   *
   * @param name in any case
   */
  public @Nullable String header(String name) {
    return headers.get(name.toLowerCase(Locale.ROOT));
  }

  /** Returns a member of the JSON body; null if it is absent or no policy asked for it. */
  public @Nullable Object field(String name) {
    return body.get(name);
  }

  /** Returns true if a policy asked for fields. */
  @SuppressWarnings("ReferenceEquality") // equal contents do not mean that no policy asked
  public boolean asked() {
    return this != NONE;
  }

  /** Returns a copy with this path; {@link #NONE} stays the same. */
  public RequestFields at(String path) {
    return asked() ? new RequestFields(path, headers, body, whole) : this;
  }

  /** Omits the header values, because they may be clients' keys. */
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
