package io.pointsman.control.health;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.EngineTls;
import io.pointsman.proxy.wire.RouterId;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A small HTTP/1.1 client for requests of the router itself: one blocking request per connection,
 * for virtual threads. A deadline covers everything from the name lookup to the last byte. Does not
 * follow redirects. It is one class because writing, reading and closing share the socket and the
 * deadline of one request.
 */
public final class EngineClient {
  /** Maximum size of a response body in bytes; probes and model lists are far smaller. */
  static final int MOST_BYTES = 4 << 20;

  /** A response is larger than {@link #MOST_BYTES}. */
  static final class TooLargeException extends IOException {
    private static final long serialVersionUID = 1;

    TooLargeException() {
      super("response of more than " + MOST_BYTES + " bytes");
    }
  }

  /** Resolver of host names. */
  @FunctionalInterface
  public interface Names {
    /**
     * The addresses of a host, in the order in which to try them.
     *
     * @param nanos maximum wait in nanoseconds
     * @throws IOException if there is no address, or none in time
     */
    List<InetAddress> addresses(String host, long nanos) throws IOException;
  }

  private volatile EngineKeys keys;
  private volatile RouterId router = RouterId.NONE;
  private final Ticker ticker;
  private final Names names;
  private final EngineTls tls;

  /**
   * @param keys bearer tokens by role
   * @param names resolver; the same as that of requests
   * @param tls TLS to engines; the same as that of requests
   */
  public EngineClient(EngineKeys keys, Ticker ticker, Names names, EngineTls tls) {
    this.keys = keys;
    this.ticker = ticker;
    this.names = names;
    this.tls = tls;
  }

  /**
   * A client that asks the system for each name.
   *
   * @param keys bearer tokens by role
   */
  public EngineClient(EngineKeys keys, Ticker ticker) {
    this(keys, ticker, EngineTls.ofSystem());
  }

  /**
   * A client that asks the system for each name.
   *
   * @param keys bearer tokens by role
   */
  public EngineClient(EngineKeys keys, Ticker ticker, EngineTls tls) {
    this(
        keys,
        ticker,
        (host, nanos) -> List.of(HostNames.addresses(host, (int) (nanos / 1_000_000))),
        tls);
  }

  /**
   * @param apiKey bearer token for engines of all roles; empty: none
   */
  public EngineClient(String apiKey, Ticker ticker) {
    this(EngineKeys.of(apiKey.isEmpty() ? null : apiKey), ticker);
  }

  /** Sends the router's identity with each request. Call before the first request. */
  public EngineClient identifiedBy(RouterId id) {
    router = id;
    return this;
  }

  /** The identity that requests carry. */
  RouterId router() {
    return router;
  }

  /** Uses other keys for requests that begin later. */
  public void use(EngineKeys next) {
    keys = next;
  }

  /**
   * An engine's response.
   *
   * @param body without framing; not copied
   * @param router id of the router that answered; null if it is no router
   * @param routers number of routers to the nearest engine, with that one; 0 if it is no router
   */
  @SuppressWarnings("ArrayRecordComponent") // passed on without copy, never compared
  public record Answer(int status, byte[] body, @Nullable String router, int routers) {
    /** An answer of an engine. */
    public Answer(int status, byte[] body) {
      this(status, body, null, 0);
    }

    /** True if the status is 2xx. */
    public boolean good() {
      return status / 100 == 2;
    }
  }

  /**
   * Sends a request without a body.
   *
   * @param role role of the engine, which selects the key
   * @param url {@code http://} or {@code https://}, with path
   * @throws IOException if there is no complete response in time
   */
  public Answer send(Role role, String method, String url, Duration timeout) throws IOException {
    String key = keys.of(role);
    return exchange(method, url, key == null ? null : "Bearer " + key, null, timeout);
  }

  /**
   * Sends a request without a body to a worker, with its key.
   *
   * @param url {@code http://} or {@code https://}, with path
   * @throws IOException if there is no complete response in time
   */
  public Answer send(WorkerSpec worker, String method, String url, Duration timeout)
      throws IOException {
    String key = keys.of(worker);
    return exchange(method, url, key == null ? null : "Bearer " + key, null, timeout);
  }

  /**
   * Sends a request without a body on, in place of a client's.
   *
   * @param via the routers that sent the client's request, by {@link RouterId#VIA}; null: none
   * @throws IOException if there is no complete response in time
   */
  public Answer send(
      WorkerSpec worker, String method, String url, @Nullable String via, Duration timeout)
      throws IOException {
    Map<String, String> lines = via == null ? Map.of() : Map.of(RouterId.VIA, via);
    return forward(worker, method, url, lines, null, timeout);
  }

  /**
   * Posts a JSON document.
   *
   * @param worker the worker, which selects the key
   * @param url {@code http://} or {@code https://}, with path
   * @param authorization the client's Authorization, which is sent if the router has no key and
   *     clients' keys go to the worker; null: none
   * @throws IOException if there is no complete response in time
   */
  public Answer post(
      WorkerSpec worker, String url, byte[] body, @Nullable String authorization, Duration timeout)
      throws IOException {
    EngineKeys present = keys;
    String key = present.of(worker);
    String ofClient = present.dropsClients(worker) ? null : authorization;
    return exchange("POST", url, key == null ? ofClient : "Bearer " + key, body, timeout);
  }

  /**
   * Sends a client's request on.
   *
   * @param worker the worker, which selects the key
   * @param url {@code http://} or {@code https://}, with path and query
   * @param headers header lines by lower-case name, without line breaks; a key of the router
   *     replaces {@code authorization}, which is left out if clients' keys do not go to the worker
   * @param body null: none
   * @throws IOException if there is no complete response in time
   */
  public Answer forward(
      WorkerSpec worker,
      String method,
      String url,
      Map<String, String> headers,
      byte @Nullable [] body,
      Duration timeout)
      throws IOException {
    EngineKeys present = keys;
    String key = present.of(worker);
    Map<String, String> lines = new TreeMap<>(headers);
    if (key != null) {
      lines.put("authorization", "Bearer " + key);
    } else if (present.dropsClients(worker)) {
      lines.remove("authorization");
    }
    return exchange(method, url, lines, body, timeout);
  }

  private Answer exchange(
      String method,
      String url,
      @Nullable String authorization,
      byte @Nullable [] body,
      Duration timeout)
      throws IOException {
    Map<String, String> lines = new TreeMap<>();
    if (authorization != null) {
      lines.put("authorization", authorization);
    }
    if (body != null) {
      lines.put("content-type", "application/json");
    }
    return exchange(method, url, lines, body, timeout);
  }

  private Answer exchange(
      String method,
      String url,
      Map<String, String> lines,
      byte @Nullable [] body,
      Duration timeout)
      throws IOException {
    URI uri = URI.create(url);
    long deadline = ticker.nanos() + timeout.toNanos();
    boolean secure = "https".equals(uri.getScheme());
    HostPort to = HostPort.ofUrl(url);
    int port = to.portOr(secure ? 443 : 80);
    try (Socket plain = connect(to.bareHost(), port, deadline);
        Socket socket = secure ? secured(plain, to.bareHost(), port, deadline) : plain) {
      OutputStream out = socket.getOutputStream();
      out.write(head(method, uri, lines, body));
      if (body != null) {
        write(out, body, plain, millisLeft(deadline));
      }
      return new ContentReader(new TimedStream(socket, deadline), method).read();
    }
  }

  private byte[] head(String method, URI uri, Map<String, String> lines, byte @Nullable [] body) {
    String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
    String path = uri.getRawPath().isEmpty() ? "/" : uri.getRawPath();
    StringBuilder head = new StringBuilder(128);
    head.append(method).append(' ').append(path).append(query).append(" HTTP/1.1\r\n");
    head.append("host: ").append(uri.getRawAuthority()).append("\r\n");
    head.append("user-agent: pointsman\r\naccept: */*\r\nconnection: close\r\n");
    if (body != null || method.equals("POST")) {
      head.append("content-length: ").append(body == null ? 0 : body.length).append("\r\n");
    }
    String via = router.via(lines.get(RouterId.VIA));
    if (!via.isEmpty()) {
      head.append(RouterId.VIA).append(": ").append(via).append("\r\n");
    }
    lines.forEach(
        (name, value) -> {
          if (!name.equals(RouterId.VIA)) {
            head.append(name).append(": ").append(value).append("\r\n");
          }
        });
    return head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1);
  }

  /**
   * Writes the body. Socket writes have no timeout, so another thread closes the socket at the
   * deadline.
   */
  private static void write(OutputStream out, byte[] body, Socket socket, int millis)
      throws IOException {
    CountDownLatch written = new CountDownLatch(1);
    Thread.ofVirtual().name("write-deadline").start(() -> closeUnless(written, socket, millis));
    try {
      out.write(body);
    } finally {
      written.countDown();
    }
  }

  private static void closeUnless(CountDownLatch written, Socket socket, int millis) {
    try {
      if (!written.await(millis, TimeUnit.MILLISECONDS)) {
        socket.close();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException e) {
      // The write then fails.
    }
  }

  private Socket connect(String name, int port, long deadline) throws IOException {
    IOException last = new IOException("no address of " + name);
    for (InetAddress address : names.addresses(name, millisLeft(deadline) * 1_000_000L)) {
      Socket socket = new Socket();
      try {
        socket.connect(new InetSocketAddress(address, port), millisLeft(deadline));
        return socket;
      } catch (SocketTimeoutException e) {
        socket.close();
        last = new ConnectTimeout(name + ":" + port + ": no connection in time");
      } catch (IOException e) {
        socket.close();
        last = e;
      }
    }
    throw last;
  }

  private Socket secured(Socket plain, String host, int port, long deadline) throws IOException {
    plain.setSoTimeout(millisLeft(deadline));
    return tls.socket(plain, host, port);
  }

  private int millisLeft(long deadline) throws SocketTimeoutException {
    long left = (deadline - ticker.nanos()) / 1_000_000;
    if (left <= 0) {
      throw new SocketTimeoutException("no answer in time");
    }
    return (int) Math.min(left, Integer.MAX_VALUE);
  }

  /** A socket's input with one deadline for all reads. */
  private final class TimedStream extends InputStream {
    private final Socket socket;
    private final InputStream in;
    private final long deadline;

    TimedStream(Socket socket, long deadline) throws IOException {
      this.socket = socket;
      this.deadline = deadline;
      in = socket.getInputStream();
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      socket.setSoTimeout(millisLeft(deadline));
      return in.read(bytes, offset, length);
    }
  }

  /**
   * Reads one response: head, then a body framed by length, by chunks, or by the end of the
   * connection.
   */
  private static final class ContentReader {
    /** The beginning of each response. */
    private static final String HTTP = "HTTP/";

    /** Maximum length of a router's id in characters. */
    private static final int LONGEST_ROUTER = 64;

    private final InputStream in;
    private final boolean bodiless;
    private long length = -1;
    private boolean chunked;
    private @Nullable String router;

    /** One if a router does not report it, because its release does not know the header. */
    private int routers = 1;

    ContentReader(InputStream in, String method) {
      this.in = new BufferedInputStream(in, 2048);
      bodiless = method.equals("HEAD");
    }

    Answer read() throws IOException {
      String first = statusLine();
      String[] status = first.split(" ", 3);
      if (status.length < 2 || !status[0].startsWith("HTTP/1.") || status[1].length() != 3) {
        throw new NotHttp(first);
      }
      for (String line = line(); !line.isEmpty(); line = line()) {
        header(line);
      }
      int code = (int) number(status[1], 10);
      boolean empty = bodiless || code == 204 || code == 304;
      byte[] content = empty ? new byte[0] : body();
      return new Answer(code, content, router, router == null ? 0 : routers);
    }

    private void header(String line) throws IOException {
      int colon = line.indexOf(':');
      if (colon > 0) {
        String value = line.substring(colon + 1).strip();
        switch (line.substring(0, colon).toLowerCase(Locale.ROOT)) {
          case "content-length" -> length = number(value, 10);
          case "transfer-encoding" -> chunked = value.equalsIgnoreCase("chunked");
          case RouterId.ROUTER -> router = value.length() > LONGEST_ROUTER ? null : value;
          case RouterId.ROUTERS -> {
            // More are not possible, and a wrong value counts as none.
            boolean plain = value.length() == 1 && Character.isDigit(value.charAt(0));
            routers = plain ? Math.max(1, Character.digit(value.charAt(0), 10)) : 1;
          }
          default -> {}
        }
      }
    }

    private byte[] body() throws IOException {
      if (chunked) {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        for (long size = chunkSize(); size > 0; size = chunkSize()) {
          whole.write(exactly(size, whole.size()));
          line();
        }
        return whole.toByteArray();
      }
      return length >= 0 ? exactly(length, 0) : toTheEnd();
    }

    private long chunkSize() throws IOException {
      return number(line().split(";", 2)[0].strip(), 16);
    }

    private byte[] exactly(long size, int before) throws IOException {
      if (size < 0 || size + before > MOST_BYTES) {
        throw new TooLargeException();
      }
      byte[] bytes = in.readNBytes((int) size);
      if (bytes.length < size) {
        throw new IOException("the connection ended within the response");
      }
      return bytes;
    }

    private byte[] toTheEnd() throws IOException {
      byte[] bytes = in.readNBytes(MOST_BYTES + 1);
      if (bytes.length > MOST_BYTES) {
        throw new TooLargeException();
      }
      return bytes;
    }

    /**
     * The first line. Servers of other protocols mostly send no whole line, and close the
     * connection.
     *
     * @throws SocketTimeoutException if it does not end in time, also if it is not HTTP
     * @throws NotHttp if the connection ends within a line that is not HTTP
     */
    private String statusLine() throws IOException {
      StringBuilder line = new StringBuilder();
      try {
        return line(line);
      } catch (SocketTimeoutException e) {
        throw e;
      } catch (IOException e) {
        String received = line.toString();
        if (received.startsWith(HTTP) || HTTP.startsWith(received)) {
          throw e;
        }
        throw (IOException) new NotHttp(received).initCause(e);
      }
    }

    private String line() throws IOException {
      return line(new StringBuilder());
    }

    private String line(StringBuilder line) throws IOException {
      for (int c = in.read(); c != '\n'; c = in.read()) {
        if (c < 0 || line.length() > 16_384) {
          throw new IOException("the connection ended within the response head");
        }
        if (c != '\r') {
          line.append((char) c);
        }
      }
      return line.toString();
    }

    private static long number(String text, int radix) throws IOException {
      try {
        return Long.parseLong(text, radix);
      } catch (NumberFormatException e) {
        throw new IOException("not an HTTP response: " + text, e);
      }
    }
  }
}
