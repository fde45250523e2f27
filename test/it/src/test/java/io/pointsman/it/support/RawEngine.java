package io.pointsman.it.support;

import io.pointsman.it.support.HttpAnswer.Header;
import io.pointsman.testkit.engine.Faults;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * An engine that records each request as bytes and answers with the bytes of a script. It is
 * healthy and serves one model.
 */
public final class RawEngine implements AutoCloseable {
  /**
   * A request as received.
   *
   * @param line request line
   * @param body body without framing
   */
  @SuppressWarnings("ArrayRecordComponent") // passed on without copy, never compared
  public record Received(String line, List<Header> headers, byte[] body) {
    /** The first value of a header, in any case; null if it is missing. */
    public @Nullable String header(String name) {
      return new HttpAnswer.Head(0, headers).header(name);
    }
  }

  /** Answers one request in bytes; an exception breaks the connection. */
  public interface Script {
    void answer(Received request, OutputStream out) throws IOException;
  }

  private static final byte[] UNWELL =
      "HTTP/1.1 503 Unwell\r\ncontent-length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] NOT_FOUND =
      "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] UNAUTHORIZED =
      "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final String model;
  private final Script script;
  private final ServerSocket listener;
  private final Queue<Received> received = new ConcurrentLinkedQueue<>();
  private final Queue<Socket> open = new ConcurrentLinkedQueue<>();
  private final AtomicInteger inFlight = new AtomicInteger();
  private volatile String demanded = "";
  private volatile Duration probesTake = Duration.ZERO;
  private volatile boolean unwell;
  private final Thread acceptor = Thread.ofVirtual().name("raw-engine").unstarted(this::accept);

  private RawEngine(String model, Script script) throws IOException {
    this.model = model;
    this.script = script;
    listener = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
  }

  public static RawEngine start(String model, Script script) throws IOException {
    RawEngine engine = new RawEngine(model, script);
    engine.acceptor.start();
    return engine;
  }

  /** Refuses all further requests without this header value, including probes and model lists. */
  public void demand(String authorization) {
    demanded = authorization;
  }

  /** Delays further responses to probes, like a busy engine. */
  public void slowToProbes(Duration delay) {
    probesTake = delay;
  }

  /** Answers further probes with an error, but serves all other requests. */
  public void unwell() {
    unwell = true;
  }

  public String url() {
    return "http://127.0.0.1:" + listener.getLocalPort();
  }

  /** All requests except probes and model lists; oldest first. */
  public List<Received> received() {
    return List.copyOf(received);
  }

  /** The last request. */
  public Received last() {
    List<Received> all = received();
    if (all.isEmpty()) {
      throw new AssertionError("the engine has received no request");
    }
    return all.getLast();
  }

  /** Number of requests that a script is answering. */
  public int inFlight() {
    return inFlight.get();
  }

  /** Number of open connections, with or without a request. */
  public int connections() {
    return open.size();
  }

  /** A complete response as bytes. */
  public static byte[] answer(String type, byte[] body, String... headers) {
    StringBuilder head = new StringBuilder("HTTP/1.1 200 OK\r\ncontent-type: ").append(type);
    for (String header : headers) {
      head.append("\r\n").append(header);
    }
    head.append("\r\ncontent-length: ").append(body.length).append("\r\n\r\n");
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    whole.writeBytes(head.toString().getBytes(StandardCharsets.ISO_8859_1));
    whole.writeBytes(body);
    return whole.toByteArray();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket socket = listener.accept();
        open.add(socket);
        Thread.ofVirtual().name("raw-engine").start(() -> serve(socket));
      } catch (IOException e) {
        return;
      }
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      InputStream in = new BufferedInputStream(socket.getInputStream());
      OutputStream out = new BufferedOutputStream(socket.getOutputStream(), 64 << 10);
      HttpWire wire = new HttpWire(in);
      for (String line = wire.line(); line != null; line = wire.line()) {
        answer(new Received(line, wire.headers(), new byte[0]), wire, in, out);
      }
    } catch (IOException e) {
      // The router has closed the connection, which is allowed at any time.
    } finally {
      open.remove(socket);
    }
  }

  private void answer(Received head, HttpWire wire, InputStream in, OutputStream out)
      throws IOException {
    Received request = new Received(head.line(), head.headers(), body(head, wire, in));
    String wanted = demanded;
    if (!wanted.isEmpty() && !wanted.equals(request.header("authorization"))) {
      out.write(UNAUTHORIZED);
    } else if (request.line().startsWith("GET /health")) {
      WaitFor.pause(probesTake.toMillis());
      out.write(unwell ? UNWELL : answer("text/plain", new byte[0]));
    } else if (request.line().startsWith("GET /v1/models")) {
      out.write(answer("application/json", models()));
    } else if (Faults.Healthy.asksForKvSize(request.line())
        || Faults.Healthy.asksForSleep(request.line())) {
      out.write(NOT_FOUND);
    } else {
      received.add(request);
      inFlight.incrementAndGet();
      try {
        script.answer(request, out);
      } finally {
        inFlight.decrementAndGet();
      }
    }
    out.flush();
  }

  private byte[] models() {
    String text =
        "{\"object\":\"list\",\"data\":[{\"id\":\"" + model + "\",\"object\":\"model\"}]}";
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] body(Received head, HttpWire wire, InputStream in) throws IOException {
    HttpAnswer.Head framing = new HttpAnswer.Head(0, head.headers());
    if (framing.chunked()) {
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      wire.chunks(body);
      return body.toByteArray();
    }
    return in.readNBytes((int) Math.max(framing.contentLength(), 0));
  }

  /**
   * Stops listening and breaks every connection. On return the port refuses connections. Before the
   * acceptor ends, the kernel accepts them and resets them later.
   */
  @Override
  public void close() throws IOException {
    listener.close();
    try {
      acceptor.join();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    for (Socket socket : open) {
      socket.close();
    }
  }
}
