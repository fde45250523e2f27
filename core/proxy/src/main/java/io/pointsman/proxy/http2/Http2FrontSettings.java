package io.pointsman.proxy.http2;

/**
 * HTTP/2 of a listener.
 *
 * @param enabled true to serve HTTP/2: by ALPN over TLS, by prior knowledge in clear text
 * @param upgrade true to accept the upgrade from HTTP/1.1 in clear text (RFC 7540, 3.2)
 * @param maxStreams maximum number of requests in progress on a connection
 * @param maxResets maximum number of streams that a client cancels on a connection in 30 seconds;
 *     the connection of a client that cancels more is closed
 */
public record Http2FrontSettings(boolean enabled, boolean upgrade, int maxStreams, int maxResets) {
  public static final Http2FrontSettings DEFAULTS = new Http2FrontSettings(true, false, 128, 1000);

  /** HTTP/1.1 only. */
  public static final Http2FrontSettings OFF = new Http2FrontSettings(false, false, 1, 1);

  public Http2FrontSettings {
    if (maxStreams < 1 || maxStreams > 10_000) {
      throw new IllegalArgumentException("maxStreams: " + maxStreams + " (expected: 1 to 10000)");
    }
    if (maxResets < 1) {
      throw new IllegalArgumentException("maxResets: " + maxResets + " (expected: >= 1)");
    }
    if (upgrade && !enabled) {
      throw new IllegalArgumentException("upgrade: true while HTTP/2 is off");
    }
  }
}
