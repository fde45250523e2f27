package io.pointsman.tool.sim;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

/**
 * Ports for listeners that need a known address before they run. They lie below the ephemeral range
 * (32,768 and up on Linux), in which a free port may become a connection's at any moment. Each port
 * is returned once per process.
 *
 * <p>A process takes blocks of ports. It keeps a listener at the first port of a block until it
 * ends, so no two processes use one block: the check of a port would else disturb the listener that
 * another process is about to open there.
 */
public final class FreePorts {
  private static final int FIRST = 20_000;
  private static final int BLOCKS = 100;
  private static final int BLOCK = 100;

  /** One listener for each block of this process. */
  private static final List<ServerSocket> GUARDS = new ArrayList<>();

  /** Starts at a different block in each process, so processes seldom try the same one. */
  private static int block = (int) (ProcessHandle.current().pid() % BLOCKS);

  private static int next;
  private static int end;

  private FreePorts() {}

  /**
   * Returns a port without a listener at this moment.
   *
   * @throws IllegalStateException if there is none
   */
  public static synchronized int next() {
    while (true) {
      if (next == end) {
        takeBlock();
      }
      int port = next++;
      if (isFree(port)) {
        return port;
      }
    }
  }

  private static void takeBlock() {
    for (int i = 0; i < BLOCKS; i++) {
      int first = FIRST + block * BLOCK;
      block = (block + 1) % BLOCKS;
      try {
        GUARDS.add(new ServerSocket(first, 1, InetAddress.getLoopbackAddress()));
        next = first + 1;
        end = first + BLOCK;
        return;
      } catch (IOException _) {
        // Another process has the block, or this one had it before.
      }
    }
    throw new IllegalStateException("ports: none of " + BLOCKS + " blocks is free");
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (IOException _) {
      return false;
    }
  }
}
