package io.pointsman.pd.peer;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Worker labels that describe it as a peer. The configuration and the worker API use them. */
public final class PeerLabels {
  /** Port of the worker's bootstrap server: 1 to 65535. */
  public static final String BOOTSTRAP_PORT = "bootstrap-port";

  /** Address for other engines: {@code host:port}, or the form that the protocol uses. */
  public static final String KV_ADDRESS = "kv-address";

  /** Endpoint for LMCache's blocks: {@code host/init,init/alloc,alloc}, one port for each rank. */
  public static final String RECEIVER = "receiver";

  /** All peer labels. */
  public static final List<String> ALL = List.of(BOOTSTRAP_PORT, KV_ADDRESS, RECEIVER);

  private PeerLabels() {}

  /**
   * Returns the peer with the data of its labels added.
   *
   * @throws IllegalArgumentException if a label has an invalid value
   */
  public static Peer addTo(Peer peer, Map<String, String> labels) {
    Peer labelled = peer;
    String port = labels.get(BOOTSTRAP_PORT);
    if (port != null) {
      labelled = labelled.withBootstrapPort(port(BOOTSTRAP_PORT, port));
    }
    String address = labels.get(KV_ADDRESS);
    if (address != null) {
      labelled = labelled.withKvAddress(address);
    }
    String receiver = labels.get(RECEIVER);
    return receiver == null ? labelled : labelled.withReceiver(receiver(receiver));
  }

  /**
   * Parses a receiver.
   *
   * @throws IllegalArgumentException if the text has another form
   */
  public static BlockReceiver receiver(String text) {
    String[] parts = text.split("/", -1);
    if (parts.length != 3 || parts[0].isBlank()) {
      throw new IllegalArgumentException(
          RECEIVER + ": " + text + " (expected: host/init ports/alloc ports, ports with commas)");
    }
    return new BlockReceiver(parts[0], ports(parts[1]), ports(parts[2]));
  }

  /** Formats a receiver for {@link #receiver(String)}. */
  public static String format(BlockReceiver receiver) {
    return receiver.host()
        + "/"
        + commas(receiver.initPorts())
        + "/"
        + commas(receiver.allocPorts());
  }

  private static String commas(List<Integer> ports) {
    return String.join(",", ports.stream().map(port -> port.toString()).toList());
  }

  private static List<Integer> ports(String text) {
    return Arrays.stream(text.split(",", -1)).map(port -> port(RECEIVER, port.strip())).toList();
  }

  private static int port(String label, String text) {
    int port = text.matches("\\d{1,5}") ? Integer.parseInt(text) : 0;
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException(label + ": " + text + " (expected: a port, 1 to 65535)");
    }
    return port;
  }
}
