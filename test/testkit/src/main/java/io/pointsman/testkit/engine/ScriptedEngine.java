package io.pointsman.testkit.engine;

import io.pointsman.testkit.Await;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** An HTTP server that runs a script for each request. */
public final class ScriptedEngine implements AutoCloseable {
  private static final int BACKLOG = 1024;

  private final InetAddress address;
  private final int port;
  private volatile ServerSocket listener;

  /** Keeps the port while the engine does not listen; other connections could take it. */
  private final AtomicReference<@Nullable Socket> holder = new AtomicReference<>();

  private volatile Thread accepting = Thread.ofVirtual().unstarted(this::accept);
  private final List<EngineRequest> requests = new CopyOnWriteArrayList<>();
  private final BlockingQueue<EngineRequest> arrivals = new LinkedBlockingQueue<>();
  private final BlockingQueue<Integer> departures = new LinkedBlockingQueue<>();

  /** Numbers of the open connections, by socket. */
  private final Map<Socket, Integer> sockets = new ConcurrentHashMap<>();

  /** Connections accepted while unresponsive; guarded by this. */
  private final List<Socket> unread = new ArrayList<>();

  private final AtomicInteger connections = new AtomicInteger();
  private volatile EngineScript script;
  private volatile boolean unresponsive;

  private ScriptedEngine(EngineScript script, ServerSocket unbound, InetAddress address, int port)
      throws IOException {
    this.script = script;
    this.address = address;
    listener = unbound;
    listener.setReuseAddress(true);
    listener.bind(new InetSocketAddress(address, port), BACKLOG);
    this.port = listener.getLocalPort();
  }

  public static ScriptedEngine start(EngineScript script) throws IOException {
    return start(script, 0);
  }

  /** Starts an engine on the given port, for example that of a closed one. */
  public static ScriptedEngine start(EngineScript script, int port) throws IOException {
    return start(script, new ServerSocket(), port);
  }

  /** Starts an engine with an unbound socket of another kind, for example for TLS. */
  public static ScriptedEngine start(EngineScript script, ServerSocket unbound) throws IOException {
    return start(script, unbound, 0);
  }

  /** Starts an engine at another address of this machine, for example after a name has moved. */
  public static ScriptedEngine start(EngineScript script, InetAddress address, int port)
      throws IOException {
    return start(script, new ServerSocket(), address, port);
  }

  private static ScriptedEngine start(EngineScript script, ServerSocket unbound, int port)
      throws IOException {
    return start(script, unbound, InetAddress.getLoopbackAddress(), port);
  }

  private static ScriptedEngine start(
      EngineScript script, ServerSocket unbound, InetAddress address, int port) throws IOException {
    ScriptedEngine engine = new ScriptedEngine(script, unbound, address, port);
    engine.accepting.start();
    return engine;
  }

  private void accept() {
    ServerSocket open = listener;
    try {
      while (true) {
        Socket socket = open.accept();
        int number = connections.incrementAndGet();
        sockets.put(socket, number);
        begin(socket, number);
      }
    } catch (IOException _) {
      // Closed.
    }
  }

  private synchronized void begin(Socket socket, int number) {
    if (unresponsive) {
      unread.add(socket);
    } else {
      Thread.ofVirtual().start(() -> serve(socket, number));
    }
  }

  private void serve(Socket socket, int number) {
    try (socket) {
      EngineConnection connection = new EngineConnection(socket, number);
      EngineRequest request;
      while (!connection.closed() && (request = connection.read()) != null) {
        requests.add(request);
        arrivals.add(request);
        script.answer(request, connection);
      }
    } catch (IOException _) {
      // The peer left, or the script ended the connection.
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } finally {
      sockets.remove(socket);
      departures.add(number);
    }
  }

  /** Sets the script for the next requests. */
  public void now(EngineScript next) {
    script = next;
  }

  /**
   * Makes the engine unresponsive: it breaks all connections and reads nothing from new ones.
   * Called with false, the engine reads again. Requests received while it was unresponsive are
   * never answered, and their connections stay open until the peers close them.
   */
  public synchronized void unresponsive(boolean now) throws IOException {
    if (unresponsive == now) {
      return;
    }
    unresponsive = now;
    if (now) {
      breakConnections();
      return;
    }
    unread.forEach(socket -> Thread.ofVirtual().start(() -> drain(socket)));
    unread.clear();
  }

  private void drain(Socket socket) {
    try (socket) {
      socket.getInputStream().transferTo(OutputStream.nullOutputStream());
    } catch (IOException _) {
      // A reset is an end too.
    } finally {
      sockets.remove(socket);
    }
  }

  /** Stops accepting connections and breaks the open ones. The port stays its own. */
  public void stopListening() throws IOException {
    stop();
    if (holder.get() == null) {
      Socket bound = new Socket();
      bound.setReuseAddress(true);
      bound.bind(new InetSocketAddress(address, port));
      holder.set(bound);
    }
  }

  private void stop() throws IOException {
    listener.close();
    try {
      accepting.join(); // it may be about to take a connection
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while the engine stops listening");
    }
    breakConnections();
  }

  /** Listens again on the same port, if it does not. */
  public void listenAgain() throws IOException {
    if (!listener.isClosed()) {
      return;
    }
    ServerSocket next = new ServerSocket();
    next.setReuseAddress(true);
    next.bind(new InetSocketAddress(address, port), BACKLOG);
    listener = next;
    accepting = Thread.ofVirtual().start(this::accept);
  }

  /** Number of open connections. */
  public int openConnections() {
    return sockets.size();
  }

  /** True if the connection with this number is open, see {@link EngineRequest#connection}. */
  public boolean isOpen(int connection) {
    return sockets.containsValue(connection);
  }

  public int port() {
    return port;
  }

  public String url() {
    return "http://" + id();
  }

  /** The id of a worker at {@link #url}. */
  public String id() {
    return address.getHostAddress() + ":" + port();
  }

  public List<EngineRequest> requests() {
    return requests;
  }

  /** Discards the requests received until this moment, to free memory. */
  public void forget() {
    requests.clear();
    arrivals.clear();
  }

  /** Number of accepted connections. */
  public int connections() {
    return connections.get();
  }

  /** Waits for the next request, at most {@link Await#LONG}. */
  public EngineRequest awaitRequest() throws InterruptedException {
    EngineRequest next = arrivals.poll(Await.LONG.toSeconds(), TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("no request came");
    }
    return next;
  }

  /** Waits for the end of a connection; false if none ends within {@link Await#LONG}. */
  public boolean awaitDeparture() throws InterruptedException {
    return departures.poll(Await.LONG.toSeconds(), TimeUnit.SECONDS) != null;
  }

  /** Closes every open connection, like a server that closes idle ones. */
  public void closeConnections() throws IOException {
    for (Socket socket : sockets.keySet()) {
      socket.close();
    }
  }

  /** Stops listening and breaks every connection. */
  @Override
  public void close() throws IOException {
    stop();
    Socket held = holder.getAndSet(null);
    if (held != null) {
      held.close();
    }
  }

  private void breakConnections() throws IOException {
    for (Socket socket : List.copyOf(sockets.keySet())) {
      try {
        socket.setSoLinger(true, 0);
      } catch (IOException _) {
        // Already closed.
      }
      socket.close();
      sockets.remove(socket);
    }
  }
}
