package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Client of HAProxy's runtime API over a Unix socket. Each command has a time limit. */
final class RuntimeApi {
  private static final Logger log = LoggerFactory.getLogger(RuntimeApi.class);

  /** HAProxy rejected a command. */
  static final class Refused extends IOException {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message);
    }
  }

  private static final Duration LIMIT = Duration.ofSeconds(5);

  private final Path socket;
  private final Duration limit;

  RuntimeApi(Path socket) {
    this(socket, LIMIT);
  }

  /**
   * @param limit time limit of a command, from connecting to the end of the response
   */
  RuntimeApi(Path socket, Duration limit) {
    this.socket = socket;
    this.limit = limit;
  }

  /**
   * Sends one command and returns HAProxy's response.
   *
   * @throws SocketTimeoutException if the response takes longer than the limit
   * @throws IOException if HAProxy cannot be reached
   */
  String ask(String command) throws IOException {
    CountDownLatch done = new CountDownLatch(1);
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      // A Unix socket channel has no timeouts, but another thread can close it.
      Thread.ofVirtual().name("haproxy-limit").start(() -> closeLate(channel, done));
      return ask(channel, command);
    } catch (ClosedChannelException e) {
      SocketTimeoutException late =
          new SocketTimeoutException(
              "HAProxy does not answer on its own socket within " + limit.toMillis() + " ms");
      late.initCause(e);
      throw late;
    } finally {
      done.countDown();
    }
  }

  private void closeLate(SocketChannel channel, CountDownLatch done) {
    try {
      if (!done.await(limit.toNanos(), TimeUnit.NANOSECONDS)) {
        channel.close();
      }
    } catch (IOException e) {
      log.debug("the socket of HAProxy was not closed", e);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private String ask(SocketChannel channel, String command) throws IOException {
    channel.connect(UnixDomainSocketAddress.of(socket));
    ByteBuffer out = ByteBuffer.wrap((command + "\n").getBytes(UTF_8));
    while (out.hasRemaining()) {
      channel.write(out);
    }
    ByteArrayOutputStream answer = new ByteArrayOutputStream();
    ByteBuffer in = ByteBuffer.allocate(8192);
    while (channel.read(in) >= 0) {
      answer.write(in.array(), 0, in.position());
      in.clear();
    }
    if (answer.size() == 0) {
      // Even a command without output gets an empty line.
      throw new EOFException(command + ": HAProxy closed the connection without an answer");
    }
    return answer.toString(UTF_8).strip();
  }

  /**
   * Sends a command that succeeds with no output or with a report of a changed address.
   *
   * @throws Refused if HAProxy rejects the command
   * @throws IOException if HAProxy cannot be reached
   */
  void run(String command) throws IOException {
    String answer = ask(command);
    if (!answer.isEmpty() && !answer.contains("changed") && !answer.contains("no need to")) {
      throw new Refused(command + ": " + answer);
    }
  }
}
