package io.pointsman.tool.sim;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.pointsman.tool.sim.http.HttpListener;
import io.pointsman.tool.sim.http.SimConnectionOptions;
import io.pointsman.tool.sim.http.SimEndpoint;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.link.KvNode;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.zmq.ProxyNotifications;
import io.pointsman.tool.sim.zmq.Registration;
import io.pointsman.tool.sim.zmq.RegistrationPings;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The sockets through which an engine with a role reaches its peers and the router. */
final class KvSide implements AutoCloseable {
  private final KvOptions options;
  private final String host;
  private final EventLoop loop;
  private final KvNode node;
  private final HttpListener side;
  private final List<HttpListener> inits = new ArrayList<>();
  private final List<HttpListener> allocs = new ArrayList<>();
  private List<Integer> initPorts = List.of();
  private List<Integer> allocPorts = List.of();
  private int port;
  private volatile @Nullable ProxyNotifications notifications;
  private @Nullable RegistrationPings pings;

  KvSide(
      KvOptions options,
      String host,
      EngineCore engine,
      EventLoop loop,
      Class<? extends ServerChannel> servers) {
    this.options = options;
    this.host = host;
    this.loop = loop;
    this.port = options.port();
    this.node = new KvNode(engine, options, loop, clients(servers), this::notifyRouter);
    engine.handOverBy(node);
    this.side = listener(node.sideChannel(), engine, servers);
    if (options.connector() == KvConnector.LMCACHE && options.role().decodes()) {
      for (int rank = 0; rank < options.tpSize(); rank++) {
        inits.add(listener(node.receiver(false, rank), engine, servers));
        allocs.add(listener(node.receiver(true, rank), engine, servers));
      }
      initPorts = options.initPorts();
      allocPorts = options.allocPorts();
    }
  }

  private HttpListener listener(
      SimEndpoint endpoint, EngineCore engine, Class<? extends ServerChannel> servers) {
    SimConnectionOptions connections = new SimConnectionOptions(0, false, 64 << 20);
    return new HttpListener(loop, servers, connections, endpoint, engine::id);
  }

  KvNode node() {
    return node;
  }

  /** Opens all sockets under a new engine id, before the first request. */
  void open(int httpPort) {
    if (side.isOpen()) {
      return;
    }
    port = side.open(host, port).getPort();
    initPorts = open(inits, initPorts);
    allocPorts = open(allocs, allocPorts);
    String engineId = UUID.randomUUID().toString();
    loop.submit(() -> node.begin(engineId, host, port, initPorts, allocPorts))
        .syncUninterruptibly();
    if (!options.router().isEmpty()) {
      reachRouter(httpPort);
    }
  }

  private void reachRouter(int httpPort) {
    if (options.connector().registers()) {
      String mode =
          switch (options.connector()) {
            case MORIIO_READ -> "READ";
            case MORIIO_WRITE -> "WRITE";
            case NIXL, NIXL_PUSH, LMCACHE, P2P_NCCL, MOONCAKE, SGLANG, ORCHESTRATED, NONE -> "";
          };
      Registration registration =
          new Registration(
              options.role() == KvRole.PREFILL ? "P" : "D",
              host + ":" + httpPort,
              node.self().zmqAddress(),
              mode,
              options.dpSize(),
              options.tpSize());
      pings = new RegistrationPings(options.router(), registration, options.pingSeconds());
    } else {
      notifications = new ProxyNotifications(options.router());
    }
  }

  private void notifyRouter(String requestId, int ranks) {
    ProxyNotifications open = notifications;
    if (open != null) {
      open.arrived(requestId, ranks);
    }
  }

  private List<Integer> open(List<HttpListener> listeners, List<Integer> wanted) {
    List<Integer> ports = new ArrayList<>();
    for (int i = 0; i < listeners.size(); i++) {
      int wish = wanted.isEmpty() ? 0 : wanted.get(i);
      ports.add(listeners.get(i).open(host, wish).getPort());
    }
    return ports;
  }

  /** Stops with the engine and releases all reserved blocks. */
  void stop() {
    close();
    loop.submit(node::die).syncUninterruptibly();
  }

  @Override
  public void close() {
    side.closeAll();
    inits.forEach(HttpListener::closeAll);
    allocs.forEach(HttpListener::closeAll);
    RegistrationPings pinging = pings;
    pings = null;
    if (pinging != null) {
      pinging.close();
    }
    ProxyNotifications notifying = notifications;
    notifications = null;
    if (notifying != null) {
      notifying.close();
    }
  }

  private static Class<? extends Channel> clients(Class<? extends ServerChannel> servers) {
    return servers == EpollServerSocketChannel.class
        ? EpollSocketChannel.class
        : NioSocketChannel.class;
  }
}
