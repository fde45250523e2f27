package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import java.util.regex.Pattern;

/**
 * Addresses where engines send ZeroMQ messages to the router; empty: no listener.
 *
 * @param registrationAddress {@code host:port} for registrations of P2P NCCL and MoRI-IO engines
 * @param notificationAddress {@code host:port} for notifications of LMCache's prefill engines
 */
public record PeerSettings(String registrationAddress, String notificationAddress) {
  public static final PeerSettings DEFAULTS = new PeerSettings("", "");

  private static final Pattern ADDRESS =
      Pattern.compile("(\\*|[A-Za-z0-9._-]{1,253}|\\[[0-9A-Fa-f:.]{2,45}]):([0-9]{1,5})");

  public PeerSettings {
    check("registrationAddress", registrationAddress);
    check("notificationAddress", notificationAddress);
  }

  private static void check(String name, String address) {
    requireNonNull(address, name);
    if (!address.isEmpty() && !isAddress(address)) {
      throw new IllegalArgumentException(name + ": " + address + " (expected: host:port)");
    }
  }

  /** True for a host or {@code *}, and a port; port 0 means any free port. */
  public static boolean isAddress(String text) {
    var match = ADDRESS.matcher(text);
    return match.matches() && Integer.parseInt(match.group(2)) <= 65_535;
  }

  /**
   * Returns these settings after a check against a protocol.
   *
   * @param protocol name of a protocol, or {@code off}
   * @throws IllegalArgumentException if the protocol needs a missing address or cannot use a given
   *     one
   */
  public PeerSettings with(String protocol) {
    boolean registers = !registrationAddress.isEmpty();
    boolean notifies = !notificationAddress.isEmpty();
    if (registers && protocol.equals("off")) {
      throw new IllegalArgumentException(
          "registrationAddress: set while the protocol is off (expected: a protocol, because"
              + " engines register with a role)");
    }
    if (!registers && protocol.equals("moriio")) {
      throw new IllegalArgumentException(
          "registrationAddress: missing (expected: host:port, because moriio's engines register)");
    }
    if (notifies != protocol.equals("lmcache")) {
      throw new IllegalArgumentException(
          "notificationAddress: "
              + (notifies ? notificationAddress : "missing")
              + " with the protocol "
              + protocol
              + " (expected: host:port with lmcache, empty with all other protocols)");
    }
    return this;
  }
}
