package io.pointsman.pd.peer;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * The endpoint of a decode worker for LMCache's blocks.
 *
 * @param initPorts one handshake port for each tensor-parallel rank
 * @param allocPorts one allocation port for each tensor-parallel rank
 */
public record BlockReceiver(String host, List<Integer> initPorts, List<Integer> allocPorts) {
  public BlockReceiver {
    requireNonNull(host, "host");
    initPorts = List.copyOf(initPorts);
    allocPorts = List.copyOf(allocPorts);
    if (initPorts.isEmpty() || initPorts.size() != allocPorts.size()) {
      throw new IllegalArgumentException(
          "ports: %d init, %d alloc (expected: equal numbers, at least 1)"
              .formatted(initPorts.size(), allocPorts.size()));
    }
  }
}
