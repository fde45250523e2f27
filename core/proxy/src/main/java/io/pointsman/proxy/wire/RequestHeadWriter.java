package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.telemetry.TraceContext;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Writer of the heads of requests to one worker. It writes the client's line and headers unchanged,
 * without headers of the client's hop and of the router, and adds the worker's. Immutable.
 */
public final class RequestHeadWriter {
  private static final byte[] CRLF = ascii("\r\n");
  private static final byte[] CONTENT_LENGTH = ascii("content-length: ");
  private static final byte[] CHUNKED = ascii("transfer-encoding: chunked\r\n");
  private static final byte[] REQUEST_ID = ascii("x-request-id: ");
  private static final byte[] TRACEPARENT = ascii("traceparent: ");
  private static final byte[] TRACESTATE = ascii("tracestate: ");

  private static final byte[] WEB_SOCKET = ascii("connection: Upgrade\r\nupgrade: websocket\r\n");

  private final byte[] basePath;

  /** The rest of the request line, and the first header. */
  private final byte[] versionAndHost;

  private final byte[] rank;
  private final byte[] authorization;
  private final boolean dropsKeys;
  private final RouterId router;

  /**
   * @param basePath path of the worker's URL, without a slash at its end
   * @param host the worker's {@code host:port}
   * @param rank data-parallel rank; negative for none
   * @param apiKey bearer token; null for none
   * @param dropsKeys true if the client's keys do not go to the worker; false to send the token
   *     only if the client sends no authorization
   * @param router the router that sends the requests
   */
  public RequestHeadWriter(
      String basePath,
      String host,
      int rank,
      @Nullable String apiKey,
      boolean dropsKeys,
      RouterId router) {
    this.router = router;
    this.basePath = ascii(basePath);
    versionAndHost = ascii(" HTTP/1.1\r\nhost: " + host + "\r\n");
    this.rank = ascii(rank < 0 ? "" : "x-data-parallel-rank: " + rank + "\r\n");
    authorization = ascii(apiKey == null ? "" : "authorization: Bearer " + apiKey + "\r\n");
    this.dropsKeys = dropsKeys;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * Appends the complete head, including its empty line.
   *
   * @param requestId value of {@code x-request-id} if the client sent none, in the form for engines
   * @param bodyLength length of the body in bytes; {@link RequestHead#UNKNOWN} for a chunked one
   * @param trace trace headers in place of the client's; null to forward the client's
   */
  public void write(
      ByteBuf out,
      RequestHead head,
      String requestId,
      long bodyLength,
      @Nullable TraceContext trace) {
    write(out, head, requestId, bodyLength, trace, HeadChanges.NONE);
  }

  /**
   * Appends the complete head with changes.
   *
   * @param changes headers that replace the client's
   */
  public void write(
      ByteBuf out,
      RequestHead head,
      String requestId,
      long bodyLength,
      @Nullable TraceContext trace,
      HeadChanges changes) {
    Latin1.write(out, head.method());
    out.writeByte(' ');
    if (head.uri().startsWith("/")) {
      out.writeBytes(basePath);
    }
    Latin1.write(out, head.uri());
    out.writeBytes(versionAndHost);
    if (head.webSocket()) {
      out.writeBytes(WEB_SOCKET);
    }
    if (rank.length > 0 && !changes.has(Header.RANK)) {
      out.writeBytes(rank);
    }
    writeRouters(out, head);
    int seen = copyHeaders(out, head, trace != null, changes);
    changes.write(out);
    ClientAddress client = head.client();
    if (client != null) {
      client.write(out, head);
    }
    if (trace != null) {
      writeTrace(out, trace);
    }
    if ((seen & SEEN_AUTHORIZATION) == 0) {
      out.writeBytes(authorization);
    }
    if ((seen & SEEN_REQUEST_ID) == 0 && !changes.has(Header.REQUEST_ID)) {
      out.writeBytes(REQUEST_ID);
      Latin1.write(out, requestId);
      out.writeBytes(CRLF);
    }
    if (bodyLength == RequestHead.UNKNOWN) {
      out.writeBytes(CHUNKED);
    } else if (bodyLength > 0 || head.contentLength() >= 0 || head.chunked()) {
      out.writeBytes(CONTENT_LENGTH);
      Decimals.write(out, bodyLength);
      out.writeBytes(CRLF);
    }
    out.writeBytes(CRLF);
  }

  /** The key that the worker gets with a request. */
  public SentKey key(RequestHead head) {
    boolean clients = passes(head, HeaderName.AUTHORIZATION);
    if (!clients && authorization.length > 0) {
      return SentKey.ROUTER;
    }
    return clients || passes(head, HeaderName.API_KEY) ? SentKey.CLIENT : SentKey.NONE;
  }

  private boolean passes(RequestHead head, HeaderName key) {
    for (int i = 0; i < head.size() && !dropsKeys; i++) {
      if (head.name(i) == key && !head.hides(i)) {
        return true;
      }
    }
    return false;
  }

  private void writeRouters(ByteBuf out, RequestHead head) {
    String before = head.viaRouters();
    if (before == null || router.text().isEmpty()) {
      out.writeBytes(router.line());
      return;
    }
    Latin1.write(out, RouterId.VIA + ": " + router.via(before));
    out.writeBytes(CRLF);
  }

  private static void writeTrace(ByteBuf out, TraceContext trace) {
    out.writeBytes(TRACEPARENT);
    Latin1.write(out, trace.traceparent());
    out.writeBytes(CRLF);
    if (!trace.tracestate().isEmpty()) {
      out.writeBytes(TRACESTATE);
      Latin1.write(out, trace.tracestate());
      out.writeBytes(CRLF);
    }
  }

  private static final int SEEN_AUTHORIZATION = 1;
  private static final int SEEN_REQUEST_ID = 2;

  /** Copies the forwarded headers, several lines at a time. */
  private int copyHeaders(ByteBuf out, RequestHead head, boolean traced, HeadChanges changes) {
    boolean hopHeaders = head.namesHopHeaders();
    ClientAddress client = head.client();
    int seen = 0;
    int run = 0;
    for (int i = 0; i < head.size(); i++) {
      HeaderName name = head.name(i);
      boolean replaced = replacesOwn(name, traced) || changes.replaces(name);
      boolean stays =
          name.staysHere() || head.hides(i) || (client != null && client.replaces(name));
      if (stays || replaced || (hopHeaders && head.namedByConnection(i))) {
        head.copyLines(out, run, i);
        run = i + 1;
      } else {
        seen |= name == HeaderName.AUTHORIZATION ? SEEN_AUTHORIZATION : 0;
        seen |= name == HeaderName.REQUEST_ID ? SEEN_REQUEST_ID : 0;
      }
    }
    head.copyLines(out, run, head.size());
    return seen;
  }

  private boolean replacesOwn(HeaderName name, boolean traced) {
    boolean key = name == HeaderName.AUTHORIZATION || name == HeaderName.API_KEY;
    return key ? dropsKeys : traced && name.trace();
  }
}
