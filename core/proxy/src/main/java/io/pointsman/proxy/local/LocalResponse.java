package io.pointsman.proxy.local;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.reply.ErrorCode;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The answer of an endpoint of the router. The server adds framing headers and {@code
 * x-request-id}.
 *
 * @param status 200 to 599
 * @param headers names and values, without line breaks
 * @param body the body; not copied
 * @param content the body in place of {@code body}, sent in pieces; null for most answers
 */
@SuppressWarnings("ArrayRecordComponent") // handed over, never compared
public record LocalResponse(
    int status, Map<String, String> headers, byte[] body, @Nullable LocalContent content) {

  public LocalResponse {
    if (status < 200 || status > 599) {
      throw new IllegalArgumentException("status: " + status + " (expected: 200 to 599)");
    }
    headers = Map.copyOf(headers);
    headers.forEach(LocalResponse::checkHeader);
    requireNonNull(body, "body");
  }

  /** An answer that is kept in memory. */
  public LocalResponse(int status, Map<String, String> headers, byte[] body) {
    this(status, headers, body, null);
  }

  private static void checkHeader(String name, String value) {
    if (name.isEmpty() || (name + value).chars().anyMatch(c -> c == '\r' || c == '\n' || c == 0)) {
      throw new IllegalArgumentException("header: " + name + " (expected: no line breaks)");
    }
  }

  /** A JSON document. */
  public static LocalResponse json(int status, String json) {
    return of(status, "application/json", json);
  }

  public static LocalResponse text(int status, String text) {
    return of(status, "text/plain; charset=utf-8", text);
  }

  /** An error as a text, as some APIs have it. */
  public static LocalResponse text(ErrorCode error, String text) {
    return text(error.status(), text);
  }

  private static LocalResponse of(int status, String type, String body) {
    return new LocalResponse(
        status, Map.of("content-type", type), body.getBytes(StandardCharsets.UTF_8));
  }

  /** An answer with a body that is sent in pieces. */
  public static LocalResponse of(String type, LocalContent content) {
    return new LocalResponse(200, Map.of("content-type", type), new byte[0], content);
  }

  /** Copy with one more header. */
  public LocalResponse withHeader(String name, String value) {
    Map<String, String> more = new LinkedHashMap<>(headers);
    more.put(name, value);
    return new LocalResponse(status, more, body, content);
  }
}
