package io.pointsman.control.kvevents;

import io.pointsman.config.settings.ZmqAddress;
import io.pointsman.control.zmtp.ZmtpClient;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * Selects an address of one endpoint. After a failed connection the next address is tried; a
 * working one is kept. Confined to one thread.
 */
final class AddressRotation {
  private final ZmqAddress endpoint;
  private final LookUp lookUp;
  private int turn;

  /** Resolves the addresses of a host. */
  @FunctionalInterface
  interface LookUp {
    /**
     * @return at least one address
     * @throws IOException if there is none, or none in time
     */
    InetAddress[] of(String host) throws IOException;
  }

  AddressRotation(ZmqAddress endpoint, LookUp lookUp) {
    this.endpoint = endpoint;
    this.lookUp = lookUp;
  }

  /** The current address, from a new lookup. */
  InetSocketAddress present() throws IOException {
    InetAddress[] all = lookUp.of(endpoint.host());
    return new InetSocketAddress(all[turn % all.length], endpoint.port());
  }

  /**
   * Connects to the current address.
   *
   * @throws IOException if the connection fails; the next call tries the next address
   */
  void connect(ZmtpClient client) throws IOException {
    try {
      client.connect(present());
    } catch (IOException e) {
      unreachable();
      throw e;
    }
  }

  /** Records that the current address could not be reached. */
  void unreachable() {
    turn = turn + 1 & Integer.MAX_VALUE;
  }
}
