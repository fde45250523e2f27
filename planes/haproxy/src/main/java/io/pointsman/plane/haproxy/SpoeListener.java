package io.pointsman.plane.haproxy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.Json;
import io.pointsman.engine.env.BindProblem;
import io.pointsman.engine.env.LogText;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.ProxyError;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
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

  /** Time in which HAProxy closes the connections of a listener that has retired. */
  private static final Duration RETIREMENT = Duration.ofSeconds(5);

  private final String address;
  private final ServerSocket listener;
  private final SpoeLimits limits;
  private final AtomicBoolean full = new AtomicBoolean();

  /** The connections by their sockets. */
  private final Map<Socket, SpoeConnection> open = new ConcurrentHashMap<>();

  private final CountDownLatch closed = new CountDownLatch(1);
  private volatile boolean retired;

  /** Null before {@link #begin}. */
  private volatile @Nullable Thread acceptor;

  private SpoeListener(String address, ServerSocket listener, SpoeLimits limits) {
    this.address = address;
    this.listener = listener;
    this.limits = limits;
  }

  private static int port(String address) {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /**
   * Binds an address. Connections wait there until {@link #begin}.
   *
   * @param address {@code host:port}; port 0: any free port
   * @throws IOException if the address cannot be bound
   */
  public static SpoeListener bind(String address) throws IOException {
    return bind(address, SpoeLimits.DEFAULTS);
  }

  static SpoeListener bind(String address, SpoeLimits limits) throws IOException {
    String host = address.substring(0, address.lastIndexOf(':'));
    ServerSocket listener = new ServerSocket();
    try {
      listener.setReuseAddress(true);
      listener.bind(new InetSocketAddress(host, port(address)), BACKLOG);
    } catch (IOException e) {
      listener.close();
      throw new IOException(BindProblem.of("decide.spoe-address: " + address, e), e);
    }
    return new SpoeListener(address, listener, limits);
  }

  /**
   * Starts to accept connections.
   *
   * @param route answers queries like {@code POST /internal/route}
   */
  public void begin(LocalEndpoint route, CallerCheck callers) {
    SpoeAnswers answers = new SpoeAnswers(route, callers);
    acceptor = Thread.ofVirtual().name("spoe-accept").start(() -> accept(answers));
    log.info("HAProxy can ask by SPOE at {}, port {}", address, port());
  }

  /**
   * Adds the route where {@code pointsman haproxy} finds the address.
   *
   * @param present the listener in use; null without one
   */
  public static void addTo(LocalRoutes.Builder routes, Supplier<@Nullable SpoeListener> present) {
    routes.on("GET", RouterCalls.WAYS, _ -> ways(present.get()));
    routes.forPlanes("GET", RouterCalls.WAYS);
  }

  private static LocalResponse ways(@Nullable SpoeListener present) {
    if (present == null) {
      ProxyError error = ProxyError.METHOD_NOT_ALLOWED;
      return Json.error(error, error.message()).withHeader("allow", "POST");
    }
    ObjectNode body = Json.object();
    String host = present.listener.getInetAddress().getHostAddress();
    body.putObject("spoe").put("host", host).put("port", present.port());
    return Json.answer(200, body);
  }

  public int port() {
    return listener.getLocalPort();
  }

  private void accept(SpoeAnswers answers) {
    while (!listener.isClosed()) {
      try {
        Socket socket = listener.accept();
        if (open.size() >= limits.connections()) {
          refuse(socket);
          continue;
        }
        serveOn(socket, answers);
      } catch (IOException e) {
        if (!listener.isClosed()) {
          log.warn("a connection of HAProxy was not accepted: {}", LogText.of(e));
          pause();
        }
      }
    }
  }

  private void serveOn(Socket socket, SpoeAnswers answers) throws IOException {
    SpoeConnection connection = new SpoeConnection(socket, answers, limits);
    open.put(socket, connection);
    if (closed.getCount() == 0) {
      // Accepted while {@link #close} closed all connections.
      socket.close();
    } else if (retired) {
      connection.retire();
    }
    Thread.ofVirtual().name("spoe").start(() -> serve(socket, connection));
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

  private void serve(Socket socket, SpoeConnection connection) {
    try (socket) {
      socket.setTcpNoDelay(true);
      socket.setKeepAlive(true);
      connection.run();
    } catch (IOException e) {
      if (!listener.isClosed()) {
        log.debug("a connection of HAProxy ended: {}", LogText.of(e));
      }
    } finally {
      open.remove(socket);
    }
  }

  /**
   * Stops listening. Each connection ends after its answers in progress, at the latest after 5 s.
   * HAProxy then connects again, to the address in its own configuration.
   */
  public void retire() {
    retired = true;
    release();
    // HAProxy may not read at the moment. The last frame then waits until awaitEnd closes all.
    open.values().forEach(each -> Thread.ofVirtual().name("spoe-retire").start(each::retire));
    Thread.ofVirtual().name("spoe-retired").start(this::awaitEnd);
  }

  private void awaitEnd() {
    try {
      for (long left = RETIREMENT.toMillis(); left > 0 && !ended(); left -= PAUSE_MILLIS) {
        if (closed.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS)) {
          return;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    close();
  }

  /** Closes the address. It is free when the thread that accepts has ended. */
  private void release() {
    close(listener);
    Thread accepting = acceptor;
    if (accepting != null) {
      try {
        accepting.join(RETIREMENT);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** True if it has retired and has no connections. */
  public boolean ended() {
    return retired && open.isEmpty();
  }

  /** Stops listening and closes all connections. */
  @Override
  public void close() {
    closed.countDown();
    release();
    open.keySet().forEach(SpoeListener::close);
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
