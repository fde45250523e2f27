package io.pointsman.tool.sim.zmq;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * Pushes LMCache's notifications to a router: one map per rank with the request's id. Has its own
 * thread. Notifications beyond a full queue are dropped.
 */
public final class ProxyNotifications implements AutoCloseable {
  private static final int WAITING = 10_000;
  private static final int RETRY_MILLIS = 100;

  private final BlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(WAITING);
  private final Thread thread;
  private volatile boolean stopped;

  /**
   * Connects before the first notification.
   *
   * @param router host:port of its PULL socket
   */
  public ProxyNotifications(String router) {
    thread = Thread.ofPlatform().daemon().name("sim-notify").start(() -> run(router));
  }

  /** Notifies the router that the KV of a request has arrived at each of {@code ranks} ranks. */
  public void arrived(String requestId, int ranks) {
    byte[] message = message(requestId);
    for (int i = 0; i < ranks; i++) {
      queue.offer(message);
    }
  }

  private void run(String router) {
    try (Sender push = new Sender(router, "PUSH")) {
      byte[] unsent = null;
      while (!stopped) {
        byte[] message = unsent != null ? unsent : queue.poll(100, TimeUnit.MILLISECONDS);
        unsent = message == null || sent(push, message) ? null : message;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean sent(Sender push, byte[] message) throws InterruptedException {
    try {
      push.send(message, false);
      return true;
    } catch (IOException _) {
      TimeUnit.MILLISECONDS.sleep(RETRY_MILLIS);
      return false;
    }
  }

  private static byte[] message(String requestId) {
    try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
      packer.packMapHeader(2);
      packer.packString("type").packString("ProxyNotif");
      packer.packString("req_id").packString(requestId);
      return packer.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    stopped = true;
    Threads.join(thread);
  }
}
