package io.pointsman.testkit.engine;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;

/**
 * A port at which nothing listens, and at which nobody else can begin to for as long as this is
 * open: a socket is bound to it that does not listen.
 */
public final class RefusedPort implements AutoCloseable {
  private final Socket holder = new Socket();

  /**
   * @param shared whether a listener that allows it may take the port all the same
   */
  private RefusedPort(boolean shared) throws IOException {
    holder.setReuseAddress(shared);
    holder.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  /** A port that refuses connections until this is closed. */
  public static RefusedPort open() throws IOException {
    return new RefusedPort(false);
  }

  /** A port that refuses connections while no listener that allows sharing is bound to it. */
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
