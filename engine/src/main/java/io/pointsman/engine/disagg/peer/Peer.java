package io.pointsman.engine.disagg.peer;

import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a worker beside its URL.
 *
 * @param kvAddress where other engines reach it, as it registered; null if it did not
 * @param bootstrapPort port of its bootstrap server; 0 if not known
 * @param engineIds its engine's id for each data-parallel rank, as its bootstrap server says; empty
 *     if not known
 * @param dpSize data-parallel ranks; at least 1
 * @param tpSize tensor-parallel ranks; at least 1
 * @param mode which side moves the blocks, as it registered; null if it did not
 * @param receiver where it takes LMCache's blocks; null if not known
 */
public record Peer(
    @Nullable String kvAddress,
    int bootstrapPort,
    List<String> engineIds,
    int dpSize,
    int tpSize,
    @Nullable TransferMode mode,
    @Nullable Receiver receiver) {

  /** A worker of which nothing is known. */
  public static final Peer UNKNOWN = new Peer(null, 0, List.of(), 1, 1, null, null);

  /** It becomes part of a header. */
  private static final Pattern PRINTABLE = Pattern.compile("[!-~]{1,256}");

  /** Which side moves the blocks in MoRI-IO. */
  public enum TransferMode {
    /** Decode reads what prefill has computed. */
    READ,
    /** Prefill writes into decode's blocks. */
    WRITE
  }

  public Peer {
    engineIds = List.copyOf(engineIds);
    if (kvAddress != null && !PRINTABLE.matcher(kvAddress).matches()) {
      throw new IllegalArgumentException(
          "kvAddress: " + kvAddress + " (expected: 1 to 256 visible ASCII characters)");
    }
    if (bootstrapPort < 0 || bootstrapPort > 65_535) {
      throw new IllegalArgumentException(
          "bootstrapPort: " + bootstrapPort + " (expected: 1 to 65535, or 0 if not known)");
    }
    if (dpSize < 1 || tpSize < 1) {
      throw new IllegalArgumentException(
          "dpSize, tpSize: " + dpSize + ", " + tpSize + " (expected: >= 1)");
    }
  }

  public Peer withKvAddress(String kvAddress) {
    return new Peer(kvAddress, bootstrapPort, engineIds, dpSize, tpSize, mode, receiver);
  }

  public Peer withBootstrapPort(int bootstrapPort) {
    return new Peer(kvAddress, bootstrapPort, engineIds, dpSize, tpSize, mode, receiver);
  }

  public Peer withEngineIds(List<String> engineIds) {
    return new Peer(kvAddress, bootstrapPort, engineIds, dpSize, tpSize, mode, receiver);
  }

  public Peer withSizes(int dpSize, int tpSize) {
    return new Peer(kvAddress, bootstrapPort, engineIds, dpSize, tpSize, mode, receiver);
  }

  public Peer withMode(TransferMode mode) {
    return new Peer(kvAddress, bootstrapPort, engineIds, dpSize, tpSize, mode, receiver);
  }

  public Peer withReceiver(Receiver receiver) {
    return new Peer(kvAddress, bootstrapPort, engineIds, dpSize, tpSize, mode, receiver);
  }
}
