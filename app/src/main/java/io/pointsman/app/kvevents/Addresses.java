package io.pointsman.app.kvevents;

import io.pointsman.app.kvevents.wire.Endpoint;
import io.pointsman.app.kvevents.wire.ZmtpClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * The addresses of one endpoint, in turn: after a connection that could not be made the next one is
 * tried, and the one that could is kept to. For one thread.
 */
final class Addresses {
  private final Endpoint endpoint;
  private final LookUp lookUp;
  private int turn;

  /** Finds the addresses of a host. */
  @FunctionalInterface
  interface LookUp {
    /**
     * @return one at least
     * @throws IOException if there is none, or not in time
     */
    InetAddress[] of(String host) throws IOException;
  }

  Addresses(Endpoint endpoint, LookUp lookUp) {
    this.endpoint = endpoint;
    this.lookUp = lookUp;
  }

  /** The one whose turn it is, looked up anew. */
  InetSocketAddress present() throws IOException {
    InetAddress[] all = lookUp.of(endpoint.host());
    return new InetSocketAddress(all[turn % all.length], endpoint.port());
  }

  /**
   * Connects to it.
   *
   * @throws IOException if it cannot be; then it is the next one's turn
   */
  void connect(ZmtpClient client) throws IOException {
    try {
      client.connect(present());
    } catch (IOException e) {
      unreachable();
      throw e;
    }
  }

  /** The present one could not be reached. */
  void unreachable() {
    turn = turn + 1 & Integer.MAX_VALUE;
  }
}
