package io.pointsman.pd.peer;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Data on a worker that its URL does not contain.
 *
 * @param kvAddress address for other engines, as registered; null if unknown
 * @param bootstrapPort port of its bootstrap server; 0 if unknown
 * @param engineIds the engine's id for each data-parallel rank, from its bootstrap server; empty if
 *     unknown
 * @param dpSize data-parallel ranks; at least 1
 * @param tpSize tensor-parallel ranks; at least 1
 * @param mode the side that moves the blocks, as registered; null if unknown
 * @param receiver its endpoint for LMCache's blocks; null if unknown
 */
@RecordBuilder
public record Peer(
    @Nullable String kvAddress,
    int bootstrapPort,
    List<String> engineIds,
    int dpSize,
    int tpSize,
    @Nullable TransferMode mode,
    @Nullable BlockReceiver receiver)
    implements PeerBuilder.With {

  /** A worker without known data. */
  public static final Peer UNKNOWN = new Peer(null, 0, List.of(), 1, 1, null, null);

  /** The value becomes part of a header. */
  private static final Pattern PRINTABLE = Pattern.compile("[!-~]{1,256}");

  /** The side that moves the blocks in MoRI-IO. */
  public enum TransferMode {
    /** Decode reads the blocks from prefill. */
    READ,
    /** Prefill writes the blocks to decode. */
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
}
