package io.pointsman.app.peers;

import static java.util.Objects.requireNonNull;

import java.util.regex.Pattern;

/**
 * Where engines speak to the router by ZeroMQ; an empty address listens nowhere.
 *
 * @param registrationAddress host:port at which P2P NCCL and MoRI-IO engines register
 * @param notificationAddress host:port at which LMCache's prefill engines say that blocks have
 *     arrived
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

  /** Whether it can be listened on: a host or {@code *}, and a port; 0 takes any free one. */
  public static boolean isAddress(String text) {
    var match = ADDRESS.matcher(text);
    return match.matches() && Integer.parseInt(match.group(2)) <= 65_535;
  }

  /**
   * The same, if a protocol can be used with it.
   *
   * @param protocol name of a protocol, or {@code off}
   * @throws IllegalArgumentException if the protocol needs what is not there, or there is no use
   *     for what is there
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
