package io.pointsman.it.support;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A relay in front of a server that delays messages with a mark and passes all others on
 * immediately. The server does not learn that a client has left in the meantime.
 */
public final class SlowRelay implements AutoCloseable {
  private final ServerSocket listener;
  private final int server;
  private final String mark;
  private final Duration delay;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final AtomicInteger asked = new AtomicInteger();
  private final AtomicInteger answered = new AtomicInteger();

  private SlowRelay(ServerSocket listener, int server, String mark, Duration delay) {
    this.listener = listener;
    this.server = server;
    this.mark = mark;
    this.delay = delay;
  }

  /**
   * Starts listening on a loopback port.
   *
   * @param server port of the server
   */
  public static SlowRelay open(int server, String mark, Duration delay) throws IOException {
    ServerSocket listener = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
    SlowRelay relay = new SlowRelay(listener, server, mark, delay);
    Thread.ofVirtual().name("slow-relay").start(relay::accept);
    return relay;
  }

  public int port() {
    return listener.getLocalPort();
  }

  /** Number of messages with the mark. */
  public int asked() {
    return asked.get();
  }

  /** Number of delayed messages that the server has answered, even after the client has left. */
  public int answered() {
    return answered.get();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket client = listener.accept();
        Socket behind = new Socket(InetAddress.getLoopbackAddress(), server);
        open.add(client);
        open.add(behind);
        Passage passage = new Passage(client, behind);
        Thread.ofVirtual().name("slow-relay-up").start(passage::up);
        Thread.ofVirtual().name("slow-relay-down").start(passage::down);
      } catch (IOException e) {
        // The server is not there yet, or the relay is closed.
      }
    }
  }

  /** One connection. */
  private final class Passage {
    private final Socket client;
    private final Socket behind;
    private final CountDownLatch answer = new CountDownLatch(1);
    private volatile boolean delayed;

    Passage(Socket client, Socket behind) {
      this.client = client;
      this.behind = behind;
    }

    void up() {
      byte[] bytes = new byte[1 << 18];
      try (behind) {
        InputStream in = client.getInputStream();
        OutputStream out = behind.getOutputStream();
        for (int read = in.read(bytes); read > 0; read = in.read(bytes)) {
          if (new String(bytes, 0, read, StandardCharsets.ISO_8859_1).contains(mark)) {
            asked.incrementAndGet();
            WaitFor.pause(delay.toMillis());
            delayed = true;
          }
          out.write(bytes, 0, read);
        }
        awaitAnswer();
      } catch (IOException e) {
        awaitAnswer();
      }
    }

    private void awaitAnswer() {
      try {
        if (delayed && !answer.await(WaitFor.LONG.toSeconds(), TimeUnit.SECONDS)) {
          throw new AssertionError("the server does not answer");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    void down() {
      byte[] bytes = new byte[1 << 16];
      try (client) {
        InputStream in = behind.getInputStream();
        for (int read = in.read(bytes); read > 0; read = in.read(bytes)) {
          if (delayed && answer.getCount() > 0) {
            answered.incrementAndGet();
            answer.countDown();
          }
          client.getOutputStream().write(bytes, 0, read);
        }
      } catch (IOException e) {
        // One side has left.
      }
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (Socket each : open) {
      each.close();
    }
  }
}
