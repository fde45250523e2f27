package io.pointsman.app.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

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
 * Hears from HAProxy's log, a datagram at the end of each stream, how requests ended, and tells the
 * router. What gets lost on the way expires.
 */
final class StreamEnds implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(StreamEnds.class);

  /**
   * The lease, the status, HAProxy's two signs of termination, the server, the one decided on, the
   * milliseconds to the first token, if that was seen, and how often a connection was tried again,
   * behind a plus sign if another server was.
   */
  private static final Pattern LINE =
      Pattern.compile(
          "pm (\\w+-[\\w-]{1,61}) (-?\\d{1,3}) (..) (\\S+) (\\S+) (?:(\\d{1,7})|-) (\\+?)\\d+\\s*");

  /** In a line of the Lua script: a question was given up. No stream ends with such signs. */
  private static final String GIVEN_UP = " -1 -- - - - 0";

  /** Of the Lua script: why requests are balanced without the router. */
  private static final String COMPLAINT = "pointsman: ";

  private static final String SUCCEEDED = "{\"outcome\":\"succeeded\"}";
  private static final String REFUSED = "{\"outcome\":\"refused\"}";
  private static final String IGNORED = "{\"outcome\":\"ignored\"}";
  private static final int AT_ONCE = 64;

  /** Questions that were given up, told at a time beside the ends of streams. */
  private static final int GIVEN_UP_AT_ONCE = 16;

  /** Those that wait to be told; what is too much expires. */
  private static final int GIVEN_UP_WAITING = 1024;

  private static final int BUFFER = 1 << 20;

  private final DatagramSocket socket;
  private final RouterCalls router;
  private final Semaphore calls = new Semaphore(AT_ONCE);
  private final Semaphore giveUps = new Semaphore(GIVEN_UP_AT_ONCE);
  private final Semaphore waiting = new Semaphore(GIVEN_UP_WAITING);
  private final Causes told = new Causes();

  private StreamEnds(DatagramSocket socket, RouterCalls router) {
    this.socket = socket;
    this.router = router;
  }

  /** Opens a socket of its own on the loopback. */
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
        String said = new String(bytes, 0, packet.getLength(), UTF_8);
        Settlement ended = read(said);
        if (ended != null && said.contains(GIVEN_UP)) {
          giveUp(ended);
        } else if (ended != null) {
          calls.acquire();
          settle(ended.lease(), ended.body());
        } else if (said.startsWith(COMPLAINT)) {
          complain(said.substring(COMPLAINT.length()).strip());
        }
      } catch (IOException e) {
        if (!socket.isClosed()) {
          log.warn("cannot read the log of HAProxy: {}", e.toString());
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private void complain(String cause) {
    if (told.isNew(cause)) {
      log.warn("HAProxy got no decision from the router: {}; logged once", cause);
    }
  }

  /** The body of the settlement that a line of the log stands for; null if it is none. */
  static @Nullable Settlement read(String logged) {
    Matcher line = LINE.matcher(logged);
    if (!line.lookingAt()) {
      return null;
    }
    String body =
        line.group(4).equals(line.group(5))
            ? ending(Integer.parseInt(line.group(2)), line.group(3))
            : elsewhere(line.group(5), !line.group(7).isEmpty());
    // How soon an error came tells nothing of prompts.
    String ttft = body.equals(SUCCEEDED) ? line.group(6) : null;
    return new Settlement(
        line.group(1),
        ttft == null ? body : body.substring(0, body.length() - 1) + ",\"ttft_ms\":" + ttft + "}");
  }

  /** What the router is told at the end of a stream. */
  record Settlement(String lease, String body) {}

  /**
   * The body of the settlement where another server carried the request than was decided on.
   *
   * @param decided {@code -} if HAProxy has none for the worker
   * @param redispatched whether one was tried before in vain; else HAProxy took the one decided on
   *     for down, by checks of its own, and has not tried it
   */
  private static String elsewhere(String decided, boolean redispatched) {
    return redispatched && !decided.equals("-") ? failed("connect") : IGNORED;
  }

  /**
   * The body of the settlement where the server that was decided on carried the request.
   *
   * @param status of the answer; -1 if none began
   * @param signs who ended the stream, and in which state it was: the first two of HAProxy's
   */
  private static String ending(int status, String signs) {
    return switch (signs.charAt(0)) {
      case '-' -> whole(status);
      case 'S' -> failed(signs.charAt(1) == 'C' ? "connect" : "error");
      case 's' -> failed(signs.charAt(1) == 'C' ? "connect" : "timeout");
      // With 502 what the worker answered is no HTTP. Anything else may be the client's: a chunk of
      // its body that is none is 400 before the answer, and any status within it.
      case 'P' -> status == 502 ? failed("error") : IGNORED;
      default -> IGNORED;
    };
  }

  /** The answer came to its end. */
  private static String whole(int status) {
    if (status == 503 || status == 429) {
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

  /** A router that does not answer makes many of them; ends of streams do not wait for those. */
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
   * @param permits of which one has been taken; it is given back
   */
  private void settle(String lease, String body, Semaphore permits) {
    try {
      router.settle(lease, body);
    } catch (IOException e) {
      log.debug("lease {} not settled: {}", lease, e.toString());
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
