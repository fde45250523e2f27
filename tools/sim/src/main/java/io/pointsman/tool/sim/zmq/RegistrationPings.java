package io.pointsman.tool.sim.zmq;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Registers an engine with a router periodically, because the router removes silent engines. Has
 * its own thread.
 */
public final class RegistrationPings implements AutoCloseable {
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final Thread thread;

  /**
   * Begins at once.
   *
   * @param router host:port of its ROUTER socket
   * @param seconds between two messages
   */
  public RegistrationPings(String router, Registration registration, double seconds) {
    byte[] message = registration.bytes();
    long millis = Math.max(1, (long) (seconds * 1000));
    thread =
        Thread.ofPlatform().daemon().name("sim-ping").start(() -> run(router, message, millis));
  }

  private void run(String router, byte[] message, long millis) {
    try (Sender dealer = new Sender(router, "DEALER")) {
      do {
        try {
          dealer.send(message, false);
        } catch (IOException _) {
          // The router is not reachable at the moment; the next message tries again.
        }
      } while (!stopped.await(millis, TimeUnit.MILLISECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops; the router removes the engine after a time. */
  @Override
  public void close() {
    stopped.countDown();
    Threads.join(thread);
  }
}
