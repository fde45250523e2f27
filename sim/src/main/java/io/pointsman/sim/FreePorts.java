package io.pointsman.sim;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Ports for listeners whose address others must know before they run. They lie below those that
 * systems give to connections (32,768 and up on Linux), where a port that is free at one moment may
 * be a connection's at the next, and each is given once in a process.
 */
public final class FreePorts {
  private static final int FIRST = 20_000;
  private static final int COUNT = 10_000;

  /** Processes begin at different places, so that they seldom try the same port. */
  private static final AtomicInteger NEXT =
      new AtomicInteger((int) (ProcessHandle.current().pid() * 101 % COUNT));

  private FreePorts() {}

  /**
   * One that nobody listens on at this moment.
   *
   * @throws IllegalStateException if there is none
   */
  public static int next() {
    for (int i = 0; i < COUNT; i++) {
      int port = FIRST + Math.floorMod(NEXT.getAndIncrement(), COUNT);
      if (isFree(port)) {
        return port;
      }
    }
    throw new IllegalStateException("ports: none of " + COUNT + " is free");
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (IOException _) {
      return false;
    }
  }
}
