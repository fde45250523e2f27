package io.pointsman.plane.haproxy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.Json;
import io.pointsman.engine.env.LogText;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRoutes;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Server for HAProxy's Stream Processing Offload Protocol (SPOE). Without validation of keys, every
 * client of this address can take leases.
 */
public final class SpoeListener implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(SpoeListener.class);
  private static final int BACKLOG = 1024;
  private static final int PAUSE_MILLIS = 100;

  private final ServerSocket listener;
  private final SpoeAnswers answers;
  private final SpoeLimits limits;
  private final AtomicBoolean full = new AtomicBoolean();
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final CountDownLatch closed = new CountDownLatch(1);

  private SpoeListener(ServerSocket listener, SpoeAnswers answers, SpoeLimits limits) {
    this.listener = listener;
    this.answers = answers;
    this.limits = limits;
  }

  private static int port(String address) {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /**
   * Starts listening.
   *
   * @param address {@code host:port}; port 0: any free port
   * @param route answers queries like {@code POST /internal/route}
   * @throws IOException if the address cannot be bound
   */
  public static SpoeListener open(String address, LocalEndpoint route, CallerCheck callers)
      throws IOException {
    return open(address, new SpoeAnswers(route, callers), SpoeLimits.DEFAULTS);
  }

  static SpoeListener open(String address, SpoeAnswers answers, SpoeLimits limits)
      throws IOException {
    String host = address.substring(0, address.lastIndexOf(':'));
    ServerSocket listener = new ServerSocket();
    try {
      listener.setReuseAddress(true);
      listener.bind(new InetSocketAddress(host, port(address)), BACKLOG);
    } catch (IOException e) {
      listener.close();
      throw new IOException("decide.spoe-address: " + address + " (expected: a free port)", e);
    }
    SpoeListener opened = new SpoeListener(listener, answers, limits);
    Thread.ofVirtual().name("spoe-accept").start(opened::accept);
    log.info("HAProxy can ask by SPOE at {}, port {}", address, opened.port());
    return opened;
  }

  /** Adds the route where {@code pointsman haproxy} finds this address. */
  public void addTo(LocalRoutes.Builder routes) {
    String host = listener.getInetAddress().getHostAddress();
    ObjectNode body = Json.object();
    body.putObject("spoe").put("host", host).put("port", port());
    routes.on("GET", RouterCalls.WAYS, _ -> Json.answer(200, body));
    routes.forPlanes("GET", RouterCalls.WAYS);
  }

  public int port() {
    return listener.getLocalPort();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket socket = listener.accept();
        if (open.size() >= limits.connections()) {
          refuse(socket);
          continue;
        }
        open.add(socket);
        if (listener.isClosed()) {
          // Accepted while {@link #close} closed all connections.
          socket.close();
        }
        Thread.ofVirtual().name("spoe").start(() -> serve(socket));
      } catch (IOException e) {
        if (!listener.isClosed()) {
          log.warn("a connection of HAProxy was not accepted: {}", LogText.of(e));
          pause();
        }
      }
    }
  }

  private void refuse(Socket socket) throws IOException {
    socket.close();
    if (full.compareAndSet(false, true)) {
      log.warn(
          "HAProxy has {} connections, the maximum; further ones are closed; logged once",
          limits.connections());
    }
  }

  /** Waits before the next attempt. Without free descriptors, it would fail immediately too. */
  private void pause() {
    try {
      closed.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      socket.setTcpNoDelay(true);
      socket.setKeepAlive(true);
      new SpoeConnection(socket, answers, limits).run();
    } catch (IOException e) {
      if (!listener.isClosed()) {
        log.debug("a connection of HAProxy ended: {}", LogText.of(e));
      }
    } finally {
      open.remove(socket);
    }
  }

  /** Stops listening and closes all connections. */
  @Override
  public void close() {
    closed.countDown();
    close(listener);
    open.forEach(SpoeListener::close);
  }

  /** Closes a resource and logs a failure; the caller continues with the others. */
  private static void close(Closeable each) {
    try {
      each.close();
    } catch (IOException e) {
      log.debug("not closed cleanly", e);
    }
  }
}
