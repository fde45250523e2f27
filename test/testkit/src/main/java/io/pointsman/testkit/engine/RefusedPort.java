package io.pointsman.testkit.engine;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * A port that refuses connections and that no other process can take while this is open: a socket
 * is bound to it without listening.
 */
public final class RefusedPort implements AutoCloseable {
  private final Socket holder = new Socket();

  /**
   * @param shared true if a listener that allows sharing can take the port
   */
  private RefusedPort(boolean shared) throws IOException {
    holder.setReuseAddress(shared);
    holder.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  /** A port that refuses connections until this is closed. */
  public static RefusedPort open() throws IOException {
    return new RefusedPort(false);
  }

  /** A port that refuses connections until a listener that allows sharing takes it. */
  public static RefusedPort openShared() throws IOException {
    return new RefusedPort(true);
  }

  public int port() {
    return holder.getLocalPort();
  }

  public String url() {
    return "http://127.0.0.1:" + port();
  }

  @Override
  public void close() throws IOException {
    holder.close();
  }
}
