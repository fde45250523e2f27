package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.http2.Http2FrontSettings;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.TlsProvider;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;

/**
 * The address of the listener and its event loops.
 *
 * @param host address or name to bind; {@code 0.0.0.0} for all addresses
 * @param port port to bind; 0 lets the system choose
 * @param eventLoops number of threads for network I/O; 0 means one per core
 * @param transport system interface for socket events
 * @param backlog maximum number of connections that wait to be accepted; at least 1. The system has
 *     its own limit ({@code net.core.somaxconn})
 * @param maxConnections maximum number of connected clients; 0 means no limit. Further clients wait
 *     in the backlog. A few that are being accepted may exceed the limit
 * @param hostNames names in {@code Host} under which clients reach the listener, besides local ones
 *     and addresses; empty for the names that {@link io.pointsman.proxy.local.AllowedHosts}
 *     describes
 * @param tls TLS of the clients' connections
 * @param tlsProvider implementation of TLS, also for the admin listener and for engines
 * @param http2 HTTP/2 of the clients' connections
 */
@RecordBuilder
public record ListenSettings(
    String host,
    int port,
    int eventLoops,
    Transport transport,
    int backlog,
    int maxConnections,
    List<String> hostNames,
    ServerTlsSettings tls,
    TlsProvider tlsProvider,
    Http2FrontSettings http2)
    implements ListenSettingsBuilder.With {

  public static final ListenSettings DEFAULTS =
      new ListenSettings(
          "127.0.0.1",
          30000,
          0,
          Transport.AUTO,
          4096,
          0,
          List.of(),
          ServerTlsSettings.OFF,
          TlsProvider.AUTO,
          Http2FrontSettings.DEFAULTS);

  public ListenSettings {
    hostNames = List.copyOf(hostNames);
    requireNonNull(transport, "transport");
    requireNonNull(tls, "tls");
    requireNonNull(tlsProvider, "tlsProvider");
    requireNonNull(http2, "http2");
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

  /** Copy with the parts of {@code next} that need no other loops or sockets. */
  public ListenSettings withLive(ListenSettings next) {
    return with()
        .host(next.host())
        .port(next.port())
        .backlog(transport == Transport.NIO ? backlog : next.backlog)
        .maxConnections(next.maxConnections)
        .hostNames(next.hostNames)
        .tls(next.tls)
        .tlsProvider(next.tlsProvider)
        .http2(next.http2)
        .build();
  }

  /** Number of event loops, at least 1. */
  public int loops() {
    return eventLoops > 0 ? eventLoops : Runtime.getRuntime().availableProcessors();
  }

  /** Copy with another address. */
  public ListenSettings at(String host, int port) {
    return with().host(host).port(port).build();
  }

  /** Copy with another transport. */
  public ListenSettings over(Transport transport) {
    return with().transport(transport).build();
  }
}
