package io.pointsman.config.settings;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The address of a bound ZeroMQ socket, {@code tcp://host:port}.
 *
 * @param host name or address, IPv6 without brackets; {@link #ANY} for the engine's host
 * @param port 1 to 65535
 */
public record ZmqAddress(String host, int port) {
  /** The {@link #host} of a socket bound to all addresses. */
  public static final String ANY = "*";

  private static final Pattern FORM =
      Pattern.compile("tcp://(\\*|[A-Za-z0-9._-]{1,253}|\\[[0-9A-Fa-f:.]{2,45}]):([0-9]{1,5})");

  public ZmqAddress {
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException("port: " + port + " (expected: 1 to 65535)");
    }
  }

  /**
   * Parses an endpoint; all forms of "all addresses" become {@link #ANY}.
   *
   * @throws IllegalArgumentException if the text is not an endpoint
   */
  public static ZmqAddress of(String text) {
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      throw new IllegalArgumentException(text + " (expected: tcp://host:port)");
    }
    String host = form.group(1).replaceAll("[\\[\\]]", "");
    boolean any = host.equals("0.0.0.0") || host.equals("::");
    return new ZmqAddress(any ? ANY : host, Integer.parseInt(form.group(2)));
  }

  /** True if {@code text} is an endpoint. */
  public static boolean isOne(String text) {
    try {
      of(text);
      return true;
    } catch (IllegalArgumentException _) {
      return false;
    }
  }

  /** This endpoint, with {@code engine} as host if it has none. */
  public ZmqAddress at(String engine) {
    return host.equals(ANY) ? new ZmqAddress(engine, port) : this;
  }

  /**
   * The endpoint of another data-parallel rank; engines add the rank to the port.
   *
   * @throws IllegalArgumentException if the port would exceed 65535
   */
  public ZmqAddress ofRank(int rank) {
    return new ZmqAddress(host, port + rank);
  }

  @Override
  public String toString() {
    return "tcp://" + (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
  }
}
