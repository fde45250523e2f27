package io.pointsman.proxy.wire;

/** The request headers that the router reads or replaces. */
enum HeaderName {
  ACCEPT_ENCODING("accept-encoding", false),
  API_KEY("x-api-key", false),
  AUTHORIZATION("authorization", false),
  CONNECTION("connection", true),
  CONTENT_ENCODING("content-encoding", false),
  CONTENT_LENGTH("content-length", true),
  EXPECT("expect", true),
  FORWARDED("forwarded", false),
  FORWARDED_FOR("x-forwarded-for", false),
  FORWARDED_PROTO("x-forwarded-proto", false),

  /** Any other header with a name that begins with {@code x-forwarded-}. */
  FORWARDED_OTHER("", false),
  HOST("host", true),
  HTTP2_SETTINGS("http2-settings", true),
  KEEP_ALIVE("keep-alive", true),

  /** A header that only routers set, for engines, other proxies or the router itself. */
  ORDER("", true),
  ORIGIN("origin", false),
  PROXY_AUTHORIZATION("proxy-authorization", true),
  PROXY_CONNECTION("proxy-connection", true),
  RANK("x-data-parallel-rank", true),
  REAL_IP("x-real-ip", false),
  REQUEST_ID("x-request-id", false),
  TE("te", true),
  TRACEPARENT("traceparent", false),
  TRACESTATE("tracestate", false),
  TRAILER("trailer", true),
  TRANSFER_ENCODING("transfer-encoding", true),
  UPGRADE("upgrade", true),

  /** The routers that sent the request before. */
  VIA_ROUTERS(RouterId.VIA, true),

  /** Among others, the compression of a WebSocket's messages. */
  WEBSOCKET_EXTENSIONS("sec-websocket-extensions", false),
  OTHER("", false);

  /** Beginnings of the names of {@link #ORDER}. */
  private static final String[] ORDERS = {
    "x-pointsman-",
    "x-serve-router-",
    "x-serve-request-",
    "x-body-truncated",
    "x-prefiller-",
    "x-encoder-host",
    "x-data-parallel-host-port",
    "x-gateway-destination-endpoint",
    "x-kv-"
  };

  private static final String FORWARDED_BEGINNING = "x-forwarded-";

  private final String text;
  private final boolean hop;

  HeaderName(String text, boolean hop) {
    this.text = text;
    this.hop = hop;
  }

  /**
   * True if the header belongs to the client's hop, or only the router may set it. It is not
   * forwarded.
   */
  boolean staysHere() {
    return hop;
  }

  /** True if the header identifies a trace. */
  boolean trace() {
    return this == TRACEPARENT || this == TRACESTATE;
  }

  /** The header with the name {@code bytes[from, to)}, ignoring case. */
  static HeaderName at(byte[] bytes, int from, int to) {
    HeaderName known = known(bytes, from, to);
    boolean extension =
        known == OTHER
            && to - from > 2
            && Bytes.lower(bytes[from]) == 'x'
            && bytes[from + 1] == '-';
    return extension ? extension(bytes, from, to) : known;
  }

  private static HeaderName extension(byte[] bytes, int from, int to) {
    if (Bytes.begins(bytes, from, to, FORWARDED_BEGINNING)) {
      return FORWARDED_OTHER;
    }
    for (String order : ORDERS) {
      if (Bytes.begins(bytes, from, to, order)) {
        return is(bytes, from, to, VIA_ROUTERS) == OTHER ? ORDER : VIA_ROUTERS;
      }
    }
    return OTHER;
  }

  private static HeaderName known(byte[] bytes, int from, int to) {
    return switch (to - from) {
      case 2 -> is(bytes, from, to, TE);
      case 4 -> is(bytes, from, to, HOST);
      case 6 -> is(bytes, from, to, EXPECT, ORIGIN);
      case 7 -> is(bytes, from, to, UPGRADE, TRAILER);
      case 9 -> ofNine(bytes, from, to);
      case 10 -> ofTen(bytes, from, to);
      case 11 -> is(bytes, from, to, TRACEPARENT);
      case 12 -> is(bytes, from, to, REQUEST_ID);
      case 13 -> is(bytes, from, to, AUTHORIZATION);
      case 14 -> is(bytes, from, to, CONTENT_LENGTH, HTTP2_SETTINGS);
      case 15 -> is(bytes, from, to, ACCEPT_ENCODING, FORWARDED_FOR);
      case 16 -> is(bytes, from, to, PROXY_CONNECTION, CONTENT_ENCODING);
      case 17 -> is(bytes, from, to, TRANSFER_ENCODING, FORWARDED_PROTO);
      case 19 -> is(bytes, from, to, PROXY_AUTHORIZATION);
      case 20 -> is(bytes, from, to, RANK);
      case 24 -> is(bytes, from, to, WEBSOCKET_EXTENSIONS);
      default -> OTHER;
    };
  }

  private static HeaderName is(byte[] bytes, int from, int to, HeaderName name) {
    return Bytes.is(bytes, from, to, name.text) ? name : OTHER;
  }

  private static HeaderName is(byte[] bytes, int from, int to, HeaderName one, HeaderName two) {
    return Bytes.is(bytes, from, to, one.text) ? one : is(bytes, from, to, two);
  }

  private static HeaderName ofNine(byte[] bytes, int from, int to) {
    HeaderName address = is(bytes, from, to, FORWARDED, REAL_IP);
    return address == OTHER ? is(bytes, from, to, API_KEY) : address;
  }

  private static HeaderName ofTen(byte[] bytes, int from, int to) {
    HeaderName hop = is(bytes, from, to, CONNECTION, KEEP_ALIVE);
    return hop == OTHER ? is(bytes, from, to, TRACESTATE) : hop;
  }
}
