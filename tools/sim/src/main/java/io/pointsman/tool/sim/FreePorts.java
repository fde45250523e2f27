package io.pointsman.tool.sim;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Ports for listeners that need a known address before they run. They lie below the ephemeral range
 * (32,768 and up on Linux), in which a free port may become a connection's at any moment. Each port
 * is returned once per process.
 */
public final class FreePorts {
  private static final int FIRST = 20_000;
  private static final int COUNT = 10_000;

  /** Starts at a different port in each process, so processes seldom try the same one. */
  private static final AtomicInteger NEXT =
      new AtomicInteger((int) (ProcessHandle.current().pid() * 101 % COUNT));

  private FreePorts() {}

  /**
   * Returns a port without a listener at this moment.
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
