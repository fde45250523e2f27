package io.pointsman.app.haproxy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.app.admin.Json;
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
 * Where HAProxy asks by its own protocol, the Stream Processing Offload Protocol, over connections
 * that it keeps. Whoever reaches this address may hold places.
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
   * Begins to listen.
   *
   * @param address host:port; port 0 takes any free one
   * @param route answers the question as {@code POST /internal/route} does
   * @throws IOException if the address cannot be had
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

  /** Adds the route by which {@code pointsman haproxy} finds this address. */
  public void addTo(LocalRoutes.Builder routes) {
    String host = listener.getInetAddress().getHostAddress();
    ObjectNode body = Json.object();
    body.putObject("spoe").put("host", host).put("port", port());
    routes.on("GET", RouterCalls.WAYS, _ -> Json.answer(200, body));
  }

  /** The port that is listened on. */
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
          // Taken while all were being cut.
          socket.close();
        }
        Thread.ofVirtual().name("spoe").start(() -> serve(socket));
      } catch (IOException e) {
        if (!listener.isClosed()) {
          log.warn("a connection of HAProxy was not accepted: {}", e.toString());
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

  /** Without a descriptor left, the next attempt fails as fast as this one. */
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
        log.debug("a connection of HAProxy ended: {}", e.toString());
      }
    } finally {
      open.remove(socket);
    }
  }

  /** Stops listening and cuts all connections. */
  @Override
  public void close() {
    closed.countDown();
    close(listener);
    open.forEach(SpoeListener::close);
  }

  /** One that does not close cleanly must not keep the others open. */
  private static void close(Closeable each) {
    try {
      each.close();
    } catch (IOException e) {
      log.debug("not closed cleanly", e);
    }
  }
}
