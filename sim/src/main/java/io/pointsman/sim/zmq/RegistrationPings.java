package io.pointsman.sim.zmq;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * Registers an engine with a router again and again, as the router forgets those it does not hear
 * of. Has a thread of its own.
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
    try (ZContext context = new ZContext(1)) {
      ZMQ.Socket dealer = context.createSocket(SocketType.DEALER);
      dealer.setLinger(0);
      dealer.setSndHWM(4);
      dealer.connect("tcp://" + router);
      do {
        dealer.send(message, ZMQ.DONTWAIT);
      } while (!stopped.await(millis, TimeUnit.MILLISECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Stops; the router forgets the engine by itself. */
  @Override
  public void close() {
    stopped.countDown();
    Threads.join(thread);
  }
}
