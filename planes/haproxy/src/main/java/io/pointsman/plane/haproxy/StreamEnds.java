package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.env.LogText;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.util.concurrent.Semaphore;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Receives HAProxy's log, one datagram at the end of each stream, and settles the leases
 * accordingly. After a lost datagram the lease expires.
 */
final class StreamEnds implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(StreamEnds.class);

  /**
   * Fields of a log line: lease, status, two termination flags, server, chosen server, milliseconds
   * to the first token if recorded, retries. A plus sign before the retries marks a redispatch to
   * another server.
   */
  private static final Pattern LINE =
      Pattern.compile(
          "pm (\\w+-[\\w-]{1,61}) (-?\\d{1,3}) (..) (\\S+) (\\S+) (?:(\\d{1,7})|-) (\\+?)\\d+\\s*");

  /** Part of a line about an abandoned query. No stream ends with these flags. */
  private static final String GIVEN_UP = " -1 -- - - - 0";

  private static final String SUCCEEDED = "{\"outcome\":\"succeeded\"}";
  private static final String REFUSED = "{\"outcome\":\"refused\"}";
  private static final String IGNORED = "{\"outcome\":\"ignored\"}";
  private static final String LEFT = "{\"outcome\":\"left\"}";
  private static final int AT_ONCE = 64;

  /** Maximum number of concurrent settlements of abandoned queries. */
  private static final int GIVEN_UP_AT_ONCE = 16;

  /** Maximum number of abandoned queries waiting for settlement; leases of further ones expire. */
  private static final int GIVEN_UP_WAITING = 1024;

  private static final int BUFFER = 1 << 20;

  private final DatagramSocket socket;
  private final RouterCalls router;
  private final Semaphore calls = new Semaphore(AT_ONCE);
  private final Semaphore giveUps = new Semaphore(GIVEN_UP_AT_ONCE);
  private final Semaphore waiting = new Semaphore(GIVEN_UP_WAITING);

  private StreamEnds(DatagramSocket socket, RouterCalls router) {
    this.socket = socket;
    this.router = router;
  }

  /** Opens a UDP socket on the loopback address. */
  static StreamEnds open(RouterCalls router) throws IOException {
    DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
    socket.setReceiveBufferSize(BUFFER);
    StreamEnds ends = new StreamEnds(socket, router);
    Thread.ofVirtual().name("haproxy-log").start(ends::run);
    return ends;
  }

  int port() {
    return socket.getLocalPort();
  }

  private void run() {
    byte[] bytes = new byte[2048];
    while (!socket.isClosed()) {
      DatagramPacket packet = new DatagramPacket(bytes, bytes.length);
      try {
        socket.receive(packet);
        String text = new String(bytes, 0, packet.getLength(), UTF_8);
        Settlement ended = read(text);
        if (ended != null && text.contains(GIVEN_UP)) {
          giveUp(ended);
        } else if (ended != null) {
          calls.acquire();
          settle(ended.lease(), ended.body());
        }
      } catch (IOException e) {
        if (!socket.isClosed()) {
          log.warn("cannot read the log of HAProxy: {}", LogText.of(e));
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  /** The settlement described by a log line; null if the line is not about a stream's end. */
  static @Nullable Settlement read(String logged) {
    Matcher line = LINE.matcher(logged);
    if (!line.lookingAt()) {
      return null;
    }
    String body =
        line.group(4).equals(line.group(5))
            ? ending(Integer.parseInt(line.group(2)), line.group(3))
            : elsewhere(line.group(5), !line.group(7).isEmpty());
    // The time to an error response says nothing about prompts.
    String ttft = body.equals(SUCCEEDED) ? line.group(6) : null;
    return new Settlement(
        line.group(1),
        ttft == null ? body : body.substring(0, body.length() - 1) + ",\"ttft_ms\":" + ttft + "}");
  }

  /** A lease and the body of its settlement. */
  record Settlement(String lease, String body) {}

  /**
   * The settlement body if another server than the chosen one handled the request.
   *
   * @param decided chosen server; {@code -} if HAProxy has none for the worker
   * @param redispatched true if a server failed first; false if HAProxy had marked the chosen one
   *     down and did not try it
   */
  private static String elsewhere(String decided, boolean redispatched) {
    return redispatched && !decided.equals("-") ? failed("connect") : IGNORED;
  }

  /**
   * The settlement body if the chosen server handled the request.
   *
   * @param status status of the response; -1 if none began
   * @param signs HAProxy's first two termination flags: the cause and the state of the stream
   */
  private static String ending(int status, String signs) {
    return switch (signs.charAt(0)) {
      case '-' -> whole(status);
      case 'S' -> failed(signs.charAt(1) == 'C' ? "connect" : "error");
      case 's' -> failed(signs.charAt(1) == 'C' ? "connect" : "timeout");
      // 502 means that the worker's response is not HTTP. Other statuses may be the client's fault.
      // For example, an invalid chunk in the client's body gives 400 before the response, and any
      // status during it.
      case 'P' -> status == 502 ? failed("error") : IGNORED;
      case 'C' -> signs.charAt(1) == 'H' ? LEFT : IGNORED;
      default -> IGNORED;
    };
  }

  /** The settlement body of a complete response. */
  private static String whole(int status) {
    // 508: the worker is a router that sends requests back.
    if (status == 503 || status == 429 || status == 508 || status == 529) {
      return IGNORED;
    }
    if (status >= 500) {
      return failed("error");
    }
    return status >= 400 ? REFUSED : SUCCEEDED;
  }

  private static String failed(String failure) {
    return "{\"outcome\":\"failed\",\"failure\":\"" + failure + "\"}";
  }

  private void settle(String lease, String body) {
    Thread.ofVirtual().name("haproxy-settle").start(() -> settle(lease, body, calls));
  }

  /**
   * Settles an abandoned query. An unresponsive router causes many of these, and ends of streams
   * must not wait for them.
   */
  private void giveUp(Settlement question) {
    if (!waiting.tryAcquire()) {
      log.debug(
          "lease {} not settled: too many requests to the router were abandoned", question.lease());
      return;
    }
    Thread.ofVirtual()
        .name("haproxy-give-up")
        .start(
            () -> {
              try {
                giveUps.acquire();
                settle(question.lease(), question.body(), giveUps);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              } finally {
                waiting.release();
              }
            });
  }

  /**
   * @param permits semaphore with one permit taken; the method releases it
   */
  private void settle(String lease, String body, Semaphore permits) {
    try {
      router.settle(lease, body);
    } catch (IOException e) {
      log.debug("lease {} not settled: {}", lease, LogText.of(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      permits.release();
    }
  }

  @Override
  public void close() {
    socket.close();
  }
}
