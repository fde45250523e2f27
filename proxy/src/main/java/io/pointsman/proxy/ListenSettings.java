package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;

/**
 * Where the router listens, and with how many event loops.
 *
 * @param host address or name to bind; {@code 0.0.0.0} for all
 * @param port port to bind; 0 lets the system choose
 * @param eventLoops threads that move bytes; 0 means one per core
 * @param transport how sockets are waited for
 * @param backlog connections that may wait to be accepted; at least 1. The system has a bound of
 *     its own ({@code net.core.somaxconn}).
 * @param maxConnections most clients that are connected at a time, but for a few that are being
 *     accepted; 0 means as many as come. Those beyond it wait to be accepted.
 */
public record ListenSettings(
    String host, int port, int eventLoops, Transport transport, int backlog, int maxConnections) {

  public static final ListenSettings DEFAULTS =
      new ListenSettings("127.0.0.1", 30000, 0, Transport.AUTO, 4096, 0);

  public ListenSettings {
    requireNonNull(transport, "transport");
    if (host.isBlank()) {
      throw new IllegalArgumentException("host: blank (expected: an address or a name)");
    }
    if (port < 0 || port > 65_535) {
      throw new IllegalArgumentException("port: " + port + " (expected: 0 to 65535)");
    }
    if (eventLoops < 0 || eventLoops > 1024) {
      throw new IllegalArgumentException("eventLoops: " + eventLoops + " (expected: 0 to 1024)");
    }
    if (backlog < 1) {
      throw new IllegalArgumentException("backlog: " + backlog + " (expected: >= 1)");
    }
    if (maxConnections < 0) {
      throw new IllegalArgumentException("maxConnections: " + maxConnections + " (expected: >= 0)");
    }
  }

  /** Threads that move bytes, at least 1. */
  public int loops() {
    return eventLoops > 0 ? eventLoops : Runtime.getRuntime().availableProcessors();
  }

  /** The same at another address. */
  public ListenSettings at(String host, int port) {
    return new ListenSettings(host, port, eventLoops, transport, backlog, maxConnections);
  }

  /** The same with another transport. */
  public ListenSettings over(Transport transport) {
    return new ListenSettings(host, port, eventLoops, transport, backlog, maxConnections);
  }

  /** The same with another bound of connections. */
  public ListenSettings withMaxConnections(int most) {
    return new ListenSettings(host, port, eventLoops, transport, backlog, most);
  }

  /** The same with another number of event loops. */
  public ListenSettings withEventLoops(int eventLoops) {
    return new ListenSettings(host, port, eventLoops, transport, backlog, maxConnections);
  }
}
