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

/**
 * A complete answer of the router: status, headers and body. Its framing depends on the request.
 */
@SuppressWarnings("ArrayRecordComponent") // created, written once, never compared
public record Reply(int status, Map<String, String> headers, byte[] body) {

  /** An error in OpenAI's format. */
  public static Reply of(ProxyError error, String detail) {
    return of(error, error.status(), detail);
  }

  /** An error in OpenAI's format, with another status. */
  public static Reply of(ProxyError error, int status, String detail) {
    Map<String, String> headers = new LinkedHashMap<>();
    headers.put("content-type", "application/json");
    return new Reply(status, headers, error.json(detail).getBytes(StandardCharsets.UTF_8));
  }

  /** Copy with one more header. */
  public Reply with(String name, String value) {
    Map<String, String> more = new LinkedHashMap<>(headers);
    more.put(name, value);
    return new Reply(status, more, body);
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
    ByteBuf out = allocator.buffer(256 + more.length() + body.length);
    Latin1.write(out, "HTTP/1.1 " + HttpResponseStatus.valueOf(status) + "\r\n");
    headers.forEach((name, value) -> ByteBufUtil.writeUtf8(out, name + ": " + value + "\r\n"));
    Latin1.write(out, "x-request-id: " + requestId + "\r\n");
    Latin1.write(out, more);
    if (status != 204) {
      Latin1.write(out, "content-length: ");
      Decimals.write(out, body.length);
      Latin1.write(out, "\r\n");
    }
    Latin1.write(out, "\r\n");
    if (withBody) {
      out.writeBytes(body);
    }
    return out;
  }
}
