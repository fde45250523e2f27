package io.pointsman.proxy.wire;

import static io.netty.handler.codec.http.HttpHeaderNames.CONNECTION;
import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_LENGTH;
import static io.netty.handler.codec.http.HttpHeaderNames.EXPECT;
import static io.netty.handler.codec.http.HttpHeaderNames.HOST;
import static io.netty.handler.codec.http.HttpHeaderNames.TRANSFER_ENCODING;

import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.util.AsciiString;
import io.pointsman.request.RequestHeaders;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The head of a client's request, checked. What the decoder lets through and a server behind might
 * read differently is refused here: more than one {@code Host} or {@code Content-Length}, a
 * transfer coding other than {@code chunked}, both kinds of framing at once.
 */
public final class RequestHead implements RequestHeaders {
  /** What is wrong with a head. */
  public enum Fault {
    MALFORMED,
    URI_TOO_LONG,
    HEADERS_TOO_LARGE,
    VERSION,
    EXPECTATION
  }

  /** There is no {@code Content-Length}. */
  public static final long UNKNOWN = -1;

  private final String method;
  private final String uri;
  private final int pathEnd;
  private final HttpHeaders headers;
  private final boolean http10;
  private final boolean keepAlive;
  private final boolean chunked;
  private final boolean expectsContinue;
  private final long contentLength;
  private final @Nullable Fault fault;

  /** Takes over what the decoder made of a head. */
  public RequestHead(HttpRequest request) {
    method = request.method().name();
    headers = request.headers();
    uri = originForm(request.uri());
    int query = uri.indexOf('?');
    pathEnd = query < 0 ? uri.length() : query;
    http10 = request.protocolVersion().equals(HttpVersion.HTTP_1_0);
    String length = headers.get(CONTENT_LENGTH);
    contentLength = length == null ? UNKNOWN : decimal(length);
    chunked = headers.contains(TRANSFER_ENCODING);
    expectsContinue = "100-continue".equalsIgnoreCase(headers.get(EXPECT));
    fault = check(request);
    keepAlive = fault == null && HttpUtil.isKeepAlive(request);
  }

  /** A proxy's client may send the whole URL; only what follows the authority counts. */
  private static String originForm(String uri) {
    if (uri.startsWith("/") || uri.equals("*")) {
      return uri;
    }
    int scheme = uri.indexOf("://");
    if (scheme < 0) {
      return uri;
    }
    int path = uri.indexOf('/', scheme + 3);
    return path < 0 ? "/" : uri.substring(path);
  }

  private static long decimal(String digits) {
    if (digits.isEmpty() || digits.length() > 18) {
      return UNKNOWN;
    }
    long value = 0;
    for (int i = 0; i < digits.length(); i++) {
      int digit = digits.charAt(i) - '0';
      if (digit < 0 || digit > 9) {
        return UNKNOWN;
      }
      value = value * 10 + digit;
    }
    return value;
  }

  private @Nullable Fault check(HttpRequest request) {
    DecoderResult result = request.decoderResult();
    if (result.isFailure()) {
      Throwable cause = result.cause();
      return cause instanceof TooLongHttpLineException
          ? Fault.URI_TOO_LONG
          : cause instanceof TooLongHttpHeaderException ? Fault.HEADERS_TOO_LARGE : Fault.MALFORMED;
    }
    HttpVersion version = request.protocolVersion();
    if (!http10 && !version.equals(HttpVersion.HTTP_1_1)) {
      return Fault.VERSION;
    }
    if (!targetFits() || !hostFits() || !framingFits()) {
      return Fault.MALFORMED;
    }
    boolean otherExpectation = headers.contains(EXPECT) && !expectsContinue;
    return otherExpectation ? Fault.EXPECTATION : null;
  }

  private boolean targetFits() {
    return uri.startsWith("/")
        || (uri.equals("*") && method.equals("OPTIONS"))
        || method.equals("CONNECT");
  }

  private boolean hostFits() {
    Iterator<? extends CharSequence> hosts = headers.valueCharSequenceIterator(HOST);
    if (!hosts.hasNext()) {
      return http10;
    }
    hosts.next();
    return !hosts.hasNext();
  }

  private boolean framingFits() {
    if (!chunked) {
      return !headers.contains(CONTENT_LENGTH) || contentLength != UNKNOWN;
    }
    List<String> codings = headers.getAll(TRANSFER_ENCODING);
    return !http10
        && !headers.contains(CONTENT_LENGTH)
        && codings.size() == 1
        && codings.getFirst().equalsIgnoreCase("chunked");
  }

  /** Why the request cannot be served; null if it can. */
  public @Nullable Fault fault() {
    return fault;
  }

  public String method() {
    return method;
  }

  /** Path and query string, percent-encoded as they came. */
  public String uri() {
    return uri;
  }

  /** The path without the query string. */
  public String path() {
    return pathEnd == uri.length() ? uri : uri.substring(0, pathEnd);
  }

  /** The query string without its question mark. */
  public String query() {
    return pathEnd == uri.length() ? "" : uri.substring(pathEnd + 1);
  }

  /** Whether the client speaks HTTP/1.0 and so knows no chunks. */
  public boolean http10() {
    return http10;
  }

  /** Whether the client wants to use the connection again. */
  public boolean keepAlive() {
    return keepAlive;
  }

  public boolean chunked() {
    return chunked;
  }

  /** The body's length in bytes, or {@link #UNKNOWN}. */
  public long contentLength() {
    return contentLength;
  }

  /** Whether a body follows. */
  public boolean hasBody() {
    return chunked || contentLength > 0;
  }

  /** Whether the client waits for a word before it sends the body. */
  public boolean expectsContinue() {
    return expectsContinue && !http10;
  }

  /** The headers as the decoder made them. */
  public HttpHeaders headers() {
    return headers;
  }

  @Override
  public @Nullable String first(String lowerCaseName) {
    return headers.get(lowerCaseName);
  }

  @Override
  public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
    Iterator<Map.Entry<CharSequence, CharSequence>> all = headers.iteratorCharSequence();
    while (all.hasNext()) {
      Map.Entry<CharSequence, CharSequence> header = all.next();
      each.accept(header.getKey(), header.getValue());
    }
  }

  /** Whether {@code Connection} names other headers, which then are this hop's only. */
  boolean namesHopHeaders() {
    for (String value : headers.getAll(CONNECTION)) {
      for (String option : value.split(",", -1)) {
        String name = option.strip();
        if (!name.isEmpty()
            && !name.equalsIgnoreCase("close")
            && !name.equalsIgnoreCase("keep-alive")) {
          return true;
        }
      }
    }
    return false;
  }

  boolean namedByConnection(CharSequence header) {
    for (String value : headers.getAll(CONNECTION)) {
      for (String option : value.split(",", -1)) {
        if (AsciiString.contentEqualsIgnoreCase(option.strip(), header)) {
          return true;
        }
      }
    }
    return false;
  }
}
