package io.pointsman.proxy.reply;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.pointsman.proxy.wire.Decimals;
import io.pointsman.proxy.wire.Latin1;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A complete answer of the router: status, headers and body. Its framing depends on the request.
 *
 * @param failure message of an error of the router, which other APIs get in their own form; null
 *     for any other body
 */
@SuppressWarnings("ArrayRecordComponent") // created, written once, never compared
public record Reply(
    int status, Map<String, String> headers, byte[] body, @Nullable String failure) {

  /** An answer that is the same for all APIs. */
  public Reply(int status, Map<String, String> headers, byte[] body) {
    this(status, headers, body, null);
  }

  /** An error in OpenAI's format. A refusal because of load has its reason and Retry-After. */
  public static Reply of(ProxyError error, String detail) {
    return of(error, error.status(), detail);
  }

  /** An error in OpenAI's format, with another status. */
  public static Reply of(ProxyError error, int status, String detail) {
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("content-type", "application/json");
    if (error.sheds()) {
      headers.put("retry-after", "1");
      headers.put("x-pointsman-shed-reason", error.code());
    }
    return new Reply(status, headers, error.json(detail).getBytes(StandardCharsets.UTF_8), detail);
  }

  /**
   * This answer in the form of the API that was called. Only errors of the router have several
   * forms; those of OpenAI's form have a type and a code.
   *
   * @param path path of the request
   * @param requestId value of {@code x-request-id} in the answer
   */
  public Reply inFormOf(String path, String requestId) {
    if (failure == null || !AnthropicErrors.at(path)) {
      return this;
    }
    String json = AnthropicErrors.json(status, failure, requestId);
    return new Reply(status, headers, json.getBytes(StandardCharsets.UTF_8))
        .with("request-id", requestId);
  }

  /** Copy with one more header. */
  public Reply with(String name, String value) {
    Map<String, String> more = new LinkedHashMap<>(headers);
    more.put(name, value);
    return new Reply(status, more, body, failure);
  }

  /**
   * Copy with {@code Retry-After}.
   *
   * @param nanos delay in nanoseconds; rounded up to whole seconds, at least one
   */
  public Reply retryAfter(long nanos) {
    return with("retry-after", Long.toString(seconds(nanos)));
  }

  /** {@code nanos} rounded up to whole seconds, at least one. */
  public static long seconds(long nanos) {
    return Math.max(1, (nanos + 999_999_999L) / 1_000_000_000L);
  }

  /**
   * The answer as bytes.
   *
   * @param more further header lines, each with its line break
   * @param withBody false for the answer to a HEAD request
   */
  public ByteBuf render(
      ByteBufAllocator allocator, String requestId, String more, boolean withBody) {
    ByteBuf out = head(allocator, requestId, more, body.length);
    if (withBody) {
      out.writeBytes(body);
    }
    return out;
  }

  /**
   * The head of the answer as bytes.
   *
   * @param more further header lines, each with its line break
   * @param length length of the body in bytes
   */
  public ByteBuf head(ByteBufAllocator allocator, String requestId, String more, long length) {
    ByteBuf out = allocator.buffer(256 + more.length() + body.length);
    Latin1.write(out, "HTTP/1.1 " + HttpResponseStatus.valueOf(status) + "\r\n");
    headers.forEach((name, value) -> ByteBufUtil.writeUtf8(out, name + ": " + value + "\r\n"));
    Latin1.write(out, "x-request-id: " + requestId + "\r\n");
    Latin1.write(out, more);
    if (status != 204) {
      Latin1.write(out, "content-length: ");
      Decimals.write(out, length);
      Latin1.write(out, "\r\n");
    }
    Latin1.write(out, "\r\n");
    return out;
  }
}
