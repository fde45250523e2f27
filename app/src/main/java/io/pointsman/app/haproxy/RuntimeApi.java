package io.pointsman.app.haproxy;

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

/** HAProxy's runtime API, over its own socket. No command takes longer than its limit. */
final class RuntimeApi {
  private static final Logger log = LoggerFactory.getLogger(RuntimeApi.class);

  /** HAProxy has understood a command and does not do it. */
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
   * @param limit of one command, from the connection to the end of the answer
   */
  RuntimeApi(Path socket, Duration limit) {
    this.socket = socket;
    this.limit = limit;
  }

  /**
   * One command, and what HAProxy says to it.
   *
   * @throws SocketTimeoutException if that is not said within the limit
   * @throws IOException if HAProxy cannot be reached
   */
  String ask(String command) throws IOException {
    CountDownLatch done = new CountDownLatch(1);
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      // Such channels know no time-outs, but another thread may close them.
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
      // To what it has done without a word it says an empty line.
      throw new EOFException(command + ": HAProxy closed the connection without an answer");
    }
    return answer.toString(UTF_8).strip();
  }

  /**
   * A command that says nothing, or that the address was changed, if it is done.
   *
   * @throws Refused if HAProxy does not do it
   * @throws IOException if HAProxy cannot be reached
   */
  void tell(String command) throws IOException {
    String answer = ask(command);
    if (!answer.isEmpty() && !answer.contains("changed") && !answer.contains("no need to")) {
      throw new Refused(command + ": " + answer);
    }
  }
}
