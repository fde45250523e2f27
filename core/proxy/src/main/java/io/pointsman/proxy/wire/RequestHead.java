package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import io.netty.util.AsciiString;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.request.Paths;
import io.pointsman.request.RequestHeaders;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The validated head of a client's request, kept as the received bytes. It refuses valid heads that
 * a server behind the router may read differently. These have more than one {@code Host}, {@code
 * Content-Length}, {@code Authorization}, {@code X-Api-Key} or {@code Origin}, a transfer coding
 * other than {@code chunked}, or both kinds of framing. It also refuses a {@code Connection} header
 * with too many names. It is one class because all its methods read the same bytes by the positions
 * that the {@link RequestParser} has found.
 */
public final class RequestHead implements RequestHeaders {
  /** Reason to refuse a head. */
  public enum HeadFault {
    MALFORMED,
    URI_TOO_LONG,
    HEADERS_TOO_LARGE,
    VERSION,
    EXPECTATION
  }

  /** There is no {@code Content-Length}. */
  public static final long UNKNOWN = -1;

  private static final int NUMBERS = RequestParser.NUMBERS;
  private static final List<String> SCHEMES = List.of("http://", "https://");

  /**
   * Beginnings of names of extensions that all recipients need. {@code Connection} cannot assign
   * them to the client's hop.
   */
  private static final String[] END_TO_END = {
    "x-api-", "x-request-", "x-correlation-", "x-trace-", "x-b3-", "x-session-", "x-user-",
    "x-client-", "x-tenant-", "x-org", "x-stainless-", "x-claude-", "x-dynamo-", "x-amz-",
    "x-goog-", "x-ms-"
  };

  private final byte[] bytes;
  private final int[] lines;
  private final HeaderName[] names;
  private final int headersEnd;
  private final String method;
  private final String uri;
  private final int pathEnd;
  private final boolean http10;
  private final boolean keepAlive;
  private final boolean chunked;
  private final boolean expectsContinue;
  private final long contentLength;
  private final ConnectionOptions connection;
  private final boolean webSocket;
  private final boolean viaRouters;
  private final @Nullable HeadFault fault;

  /** Reason of the fault; empty if there is none. */
  private final String problem;

  /** True if {@code Content-Encoding} does not apply to the body any more. */
  private final boolean decoded;

  /** This head as received from this client. It hides a key of the router. */
  public RequestHead of(ClientIdentity known) {
    return new RequestHead(this, uri, decoded, client, known, null, known.byKey());
  }

  /**
   * This head of a request that the router sends for this client, with the router's own key.
   *
   * @param as the client as the owner of stored responses
   */
  public RequestHead onBehalfOf(ClientIdentity other, String as) {
    return new RequestHead(this, uri, decoded, client, other, as, hidesKey);
  }

  /**
   * The client as the owner of stored responses, if the router sends the request for it; else null:
   * the identity and the key determine the owner.
   */
  public @Nullable String owner() {
    return owner;
  }

  /** Number of lines with {@code X-Request-Id}. */
  public int requestIds() {
    int count = 0;
    for (HeaderName name : names) {
      count += name == HeaderName.REQUEST_ID ? 1 : 0;
    }
    return count;
  }

  /** The client that sent the request. */
  public ClientIdentity identity() {
    return identity;
  }

  /** Address of the client for workers; null if it is unknown. */
  private final @Nullable ClientAddress client;

  private final ClientIdentity identity;
  private final @Nullable String owner;

  /** True if the key is one of the router, which is not for workers. */
  private final boolean hidesKey;

  /**
   * Takes the result of the parser for {@code source}, which is copied.
   *
   * @param length length of the head in bytes, including its empty line
   */
  RequestHead(RequestParser parser, byte[] source, int length) {
    bytes = Arrays.copyOf(source, length);
    lines = parser.lines();
    names = names(bytes, lines);
    headersEnd = parser.headersEnd();
    method = method(parser.methodStart(), parser.methodEnd());
    uri = originForm(text(parser.methodEnd() + 1, parser.targetEnd()));
    int query = uri.indexOf('?');
    pathEnd = query < 0 ? uri.length() : query;
    int version = parser.targetEnd() + 1;
    http10 = Bytes.exactly(bytes, version, version + 8, "HTTP/1.0");
    boolean http11 = Bytes.exactly(bytes, version, version + 8, "HTTP/1.1");
    Framing framing = new Framing();
    chunked = framing.codings > 0;
    contentLength = framing.length;
    expectsContinue = framing.expectations == 1 && framing.continues == 1;
    connection = framing.connection;
    viaRouters = framing.viaRouters;
    boolean knownVersion = http10 || http11;
    problem = knownVersion ? problem(framing) : "";
    fault = fault(framing, knownVersion);
    keepAlive = fault == null && keepsAlive();
    webSocket =
        fault == null && http11 && method.equals("GET") && !hasBody() && framing.asksForWebSocket();
    decoded = false;
    client = null;
    identity = ClientIdentity.UNKNOWN;
    owner = null;
    hidesKey = false;
  }

  private RequestHead(
      RequestHead from,
      String uri,
      boolean decoded,
      @Nullable ClientAddress client,
      ClientIdentity identity,
      @Nullable String owner,
      boolean hidesKey) {
    bytes = from.bytes;
    lines = from.lines;
    names = from.names;
    headersEnd = from.headersEnd;
    method = from.method;
    this.uri = uri;
    int query = uri.indexOf('?');
    pathEnd = query < 0 ? uri.length() : query;
    http10 = from.http10;
    keepAlive = from.keepAlive;
    chunked = from.chunked;
    expectsContinue = from.expectsContinue;
    contentLength = from.contentLength;
    connection = from.connection;
    webSocket = from.webSocket;
    viaRouters = from.viaRouters;
    fault = from.fault;
    problem = from.problem;
    this.decoded = decoded;
    this.client = client;
    this.identity = identity;
    this.owner = owner;
    this.hidesKey = hidesKey;
  }

  private RequestHead(HeadFault fault, String problem) {
    bytes = new byte[0];
    lines = new int[0];
    names = new HeaderName[0];
    headersEnd = 0;
    method = "";
    uri = "";
    pathEnd = 0;
    http10 = false;
    keepAlive = false;
    chunked = false;
    expectsContinue = false;
    contentLength = UNKNOWN;
    connection = ConnectionOptions.NONE;
    webSocket = false;
    viaRouters = false;
    this.fault = fault;
    this.problem = problem;
    decoded = false;
    client = null;
    identity = ClientIdentity.UNKNOWN;
    owner = null;
    hidesKey = false;
  }

  /** The head of a request that did not arrive in time. */
  public static RequestHead unread() {
    return new RequestHead(HeadFault.MALFORMED, "");
  }

  /** The head of a request that could not be parsed. */
  static RequestHead faulty(HeadFault fault, String problem) {
    return new RequestHead(fault, problem);
  }

  private static HeaderName[] names(byte[] bytes, int[] lines) {
    HeaderName[] names = new HeaderName[lines.length / NUMBERS];
    for (int i = 0; i < names.length; i++) {
      names[i] = HeaderName.at(bytes, lines[i * NUMBERS], lines[i * NUMBERS + 1]);
    }
    return names;
  }

  private String method(int from, int to) {
    return Bytes.exactly(bytes, from, to, "POST") ? "POST" : text(from, to);
  }

  private String text(int from, int to) {
    return new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
  }

  /**
   * A client of a proxy may send a complete URL. Only the part after the authority counts. Any
   * other text remains unchanged.
   */
  private String originForm(String target) {
    if (target.startsWith("/")) {
      return target;
    }
    int authority = authority(target);
    int end = authority;
    while (end < target.length() && "/?#".indexOf(target.charAt(end)) < 0) {
      end++;
    }
    if (authority == 0 || end == authority) {
      return target;
    }
    if (end == target.length()) {
      return method.equals("OPTIONS") ? "*" : "/";
    }
    return switch (target.charAt(end)) {
      case '/' -> target.substring(end);
      case '?' -> "/" + target.substring(end);
      default -> target;
    };
  }

  /** Start of the authority of a complete URL; 0 if {@code target} is none. */
  private static int authority(String target) {
    for (String scheme : SCHEMES) {
      if (target.regionMatches(true, 0, scheme, 0, scheme.length())) {
        return scheme.length();
      }
    }
    return 0;
  }

  /** The headers that determine the framing of the body, read in one pass. */
  private final class Framing {
    private int hosts;
    private int authorizations;
    private int apiKeys;
    private int origins;
    private int lengths;
    private int codings;
    private int expectations;
    private int continues;
    private int upgrades;
    private boolean otherCoding;
    private int upgradeLine;
    private boolean toWebSocket;
    private boolean viaRouters;
    private long length = UNKNOWN;
    private ConnectionOptions connection = ConnectionOptions.NONE;

    Framing() {
      for (int i = 0; i < names.length; i++) {
        int from = valueStart(i);
        int to = valueEnd(i);
        switch (names[i]) {
          case HOST -> hosts++;
          case AUTHORIZATION -> authorizations++;
          case API_KEY -> apiKeys++;
          case ORIGIN -> origins++;
          case CONTENT_LENGTH -> {
            lengths++;
            length = Bytes.decimal(bytes, from, to);
          }
          case TRANSFER_ENCODING -> {
            codings++;
            otherCoding |= !Bytes.is(bytes, from, to, "chunked");
          }
          case VIA_ROUTERS -> viaRouters = true;
          case EXPECT -> {
            expectations++;
            continues += Bytes.is(bytes, from, to, "100-continue") ? 1 : 0;
          }
          case CONNECTION -> {
            if (connection == ConnectionOptions.NONE) {
              connection = new ConnectionOptions(bytes);
            }
            connection.add(from, to);
          }
          case UPGRADE -> {
            upgrades++;
            upgradeLine = i;
            toWebSocket = Bytes.is(bytes, from, to, "websocket");
          }
          default -> {}
        }
      }
    }

    /** True if {@code Connection} and the only {@code Upgrade} ask for a WebSocket. */
    private boolean asksForWebSocket() {
      return upgrades == 1
          && toWebSocket
          && connection.name(lines[upgradeLine * NUMBERS], lines[upgradeLine * NUMBERS + 1]);
    }

    /** The name of a header that must not be repeated, and is; empty if there is none. */
    private String repeated() {
      if (hosts > 1) {
        return "host";
      }
      if (authorizations > 1) {
        return "authorization";
      }
      if (apiKeys > 1) {
        return "x-api-key";
      }
      return origins > 1 ? "origin" : "";
    }

    private boolean fits() {
      if (codings == 0) {
        return lengths == 0 || (lengths == 1 && length != UNKNOWN);
      }
      return !http10 && lengths == 0 && codings == 1 && !otherCoding;
    }
  }

  private @Nullable HeadFault fault(Framing framing, boolean knownVersion) {
    if (!knownVersion) {
      return HeadFault.VERSION;
    }
    if (!problem.isEmpty()) {
      return HeadFault.MALFORMED;
    }
    return framing.expectations > 0 && !expectsContinue ? HeadFault.EXPECTATION : null;
  }

  /** The reason why the head is malformed; empty if it is not. */
  private String problem(Framing framing) {
    if (!targetFits()) {
      return "request target: invalid (expected: /path without encoded control characters)";
    }
    if (framing.hosts == 0 && !http10) {
      return "host: missing (expected: one)";
    }
    String repeated = framing.repeated();
    if (!repeated.isEmpty()) {
      return repeated + ": appears more than once (expected: once)";
    }
    if (!framing.fits()) {
      return framing.codings > 0
          ? "transfer-encoding: invalid (expected: chunked, without content-length, in HTTP/1.1)"
          : "content-length: invalid (expected: one whole number)";
    }
    return connection.tooMany() ? "connection: too many names" : "";
  }

  private boolean targetFits() {
    return (uri.startsWith("/") && !Paths.hidesControl(uri))
        || (uri.equals("*") && method.equals("OPTIONS"))
        || method.equals("CONNECT");
  }

  private boolean keepsAlive() {
    return !connection.close() && (!http10 || connection.keepAlive());
  }

  private int valueStart(int line) {
    return lines[line * NUMBERS + 2];
  }

  private int valueEnd(int line) {
    return lines[line * NUMBERS + 3];
  }

  /** Reason to refuse the request; null if it is valid. */
  public @Nullable HeadFault fault() {
    return fault;
  }

  public String method() {
    return method;
  }

  /** The reason why the head is malformed, for its sender; empty if there is none. */
  public String problem() {
    return problem;
  }

  /** True if a repetition is harmless, by the method (RFC 9110, 9.2.2). */
  public boolean idempotent() {
    return switch (method) {
      case "GET", "HEAD", "PUT", "DELETE", "OPTIONS" -> true;
      default -> false;
    };
  }

  /** True if the method only reads (RFC 9110, 9.2.1). */
  public boolean safe() {
    return switch (method) {
      case "GET", "HEAD", "OPTIONS" -> true;
      default -> false;
    };
  }

  /** This head with another path and query string. */
  public RequestHead at(String otherUri) {
    return new RequestHead(this, otherUri, decoded, client, identity, owner, hidesKey);
  }

  /** This head as received from a client with this address. */
  public RequestHead from(ClientAddress address, ClientIdentity known) {
    return new RequestHead(this, uri, decoded, address, known, null, known.byKey());
  }

  /** Address of the client for workers; null if it is unknown. */
  public @Nullable ClientAddress client() {
    return client;
  }

  /** This head for the decoded body, without {@code Content-Encoding}. */
  public RequestHead decoded() {
    return new RequestHead(this, uri, true, client, identity, owner, hidesKey);
  }

  /**
   * This head with another target.
   *
   * @param target path and query string, percent-encoded
   */
  public RequestHead to(String target) {
    return target.equals(uri)
        ? this
        : new RequestHead(this, target, decoded, client, identity, owner, hidesKey);
  }

  /** Path and query string, percent-encoded as received. */
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

  /** Length of the head in bytes. */
  public int length() {
    return bytes.length;
  }

  /** True if the client uses HTTP/1.0, which has no chunks. */
  public boolean http10() {
    return http10;
  }

  /** True if the client wants to keep the connection. */
  public boolean keepAlive() {
    return keepAlive;
  }

  /**
   * The answer's {@code Connection} line for this client; empty if the protocol version implies it.
   */
  public String connectionLine(boolean keep) {
    if (!keep) {
      return "connection: close\r\n";
    }
    return http10 ? "connection: keep-alive\r\n" : "";
  }

  public boolean chunked() {
    return chunked;
  }

  /** Length of the body in bytes, or {@link #UNKNOWN}. */
  public long contentLength() {
    return contentLength;
  }

  /** True if a body follows. */
  public boolean hasBody() {
    return chunked || contentLength > 0;
  }

  /** True if the client asks to continue with the WebSocket protocol (RFC 6455, 4.1). */
  public boolean webSocket() {
    return webSocket;
  }

  /** The routers that sent the request before, by {@link RouterId#VIA}; null if none did. */
  public @Nullable String viaRouters() {
    return viaRouters ? joined(HeaderName.VIA_ROUTERS) : null;
  }

  /**
   * The settings in a request for an upgrade to HTTP/2 (RFC 7540, 3.2), in Base64. Null if it is no
   * such request, has a body, or could be read differently.
   */
  public @Nullable String http2Upgrade() {
    int upgrades = 0;
    int settings = 0;
    String value = null;
    if (fault != null || http10 || hasBody() || !connection.nameHeaders()) {
      return null;
    }
    for (int i = 0; i < names.length; i++) {
      int name = lines[i * NUMBERS];
      int colon = lines[i * NUMBERS + 1];
      boolean ofSettings = names[i] == HeaderName.HTTP2_SETTINGS;
      if (!ofSettings && names[i] != HeaderName.UPGRADE) {
        continue;
      }
      if (!connection.name(name, colon)) {
        return null;
      }
      if (ofSettings) {
        settings++;
        value = text(valueStart(i), valueEnd(i));
      } else {
        upgrades += Bytes.is(bytes, valueStart(i), valueEnd(i), "h2c") ? 1 : 2;
      }
    }
    return upgrades == 1 && settings == 1 ? value : null;
  }

  /** True if the client waits for an interim answer before it sends the body. */
  public boolean expectsContinue() {
    return expectsContinue && !http10;
  }

  @Override
  public @Nullable String first(String lowerCaseName) {
    for (int i = 0; i < names.length; i++) {
      if (Bytes.is(bytes, lines[i * NUMBERS], lines[i * NUMBERS + 1], lowerCaseName) && !hides(i)) {
        return text(valueStart(i), valueEnd(i));
      }
    }
    return null;
  }

  @Override
  public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
    for (int i = 0; i < names.length; i++) {
      if (hides(i)) {
        continue;
      }
      int name = lines[i * NUMBERS];
      int colon = lines[i * NUMBERS + 1];
      int from = valueStart(i);
      each.accept(
          new AsciiString(bytes, name, colon - name, false),
          new AsciiString(bytes, from, valueEnd(i) - from, false));
    }
  }

  /** Number of header lines. */
  int size() {
    return names.length;
  }

  /** True if the header in {@code line} does not belong to the head any more. */
  boolean hides(int line) {
    HeaderName name = names[line];
    return (decoded && name == HeaderName.CONTENT_ENCODING)
        || (hidesKey && (name == HeaderName.AUTHORIZATION || name == HeaderName.API_KEY));
  }

  HeaderName name(int line) {
    return names[line];
  }

  /** True if {@code Connection} names other headers, which belong to this hop. */
  boolean namesHopHeaders() {
    return connection.nameHeaders();
  }

  /**
   * True if {@code Connection} assigns the header in {@code line} to the client's hop. It can do so
   * only with extensions that are not credentials or identities. Otherwise a client could, for
   * example, exchange its key for the router's.
   */
  boolean namedByConnection(int line) {
    int from = lines[line * NUMBERS];
    int to = lines[line * NUMBERS + 1];
    return names[line] == HeaderName.OTHER && connection.name(from, to) && mayBeOfHop(from, to);
  }

  private boolean mayBeOfHop(int from, int to) {
    for (String beginning : END_TO_END) {
      if (Bytes.begins(bytes, from, to, beginning)) {
        return false;
      }
    }
    return Bytes.begins(bytes, from, to, "x-");
  }

  /** The values of all headers with this name, joined by commas; empty if there are none. */
  String joined(HeaderName name) {
    StringBuilder values = new StringBuilder();
    for (int i = 0; i < names.length; i++) {
      if (names[i] == name && valueEnd(i) > valueStart(i)) {
        values.append(values.isEmpty() ? "" : ", ").append(text(valueStart(i), valueEnd(i)));
      }
    }
    return values.toString();
  }

  /** Copies header lines unchanged, from {@code first} to before {@code end}. */
  void copyLines(ByteBuf out, int first, int end) {
    int from = first == names.length ? headersEnd : lines[first * NUMBERS];
    int to = end == names.length ? headersEnd : lines[end * NUMBERS];
    out.writeBytes(bytes, from, to - from);
  }
}
