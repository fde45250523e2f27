package io.pointsman.control.peers;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.Peer.TransferMode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The registration of an engine.
 *
 * @param role prefill or decode
 * @param httpAddress {@code host:port} of its API, IPv6 in brackets; with data parallelism
 *     {@code @} and the rank may follow
 * @param kvAddress address for other engines
 * @param dpSize number of data-parallel ranks, 1 to {@link #MOST_RANKS}
 * @param tpSize number of tensor-parallel ranks, 1 to {@link #MOST_RANKS}
 * @param mode the side that moves the blocks; null if missing
 */
record Announcement(
    Role role,
    String httpAddress,
    String kvAddress,
    int dpSize,
    int tpSize,
    @Nullable TransferMode mode) {
  static final int MOST_RANKS = 1024;

  private static final Pattern HTTP_ADDRESS =
      Pattern.compile(
          "([A-Za-z0-9._-]{1,253}|\\[[0-9A-Fa-f:.]{2,45}]):([1-9][0-9]{0,4})(@[0-9]{1,4})?");

  Announcement {
    requireNonNull(role, "role");
    var match = HTTP_ADDRESS.matcher(httpAddress);
    if (!match.matches() || Integer.parseInt(match.group(2)) > 65_535) {
      throw new IllegalArgumentException("http_address (expected: host:port, or host:port@rank)");
    }
    if (dpSize < 1 || dpSize > MOST_RANKS || tpSize < 1 || tpSize > MOST_RANKS) {
      throw new IllegalArgumentException("dp_size, tp_size (expected: 1 to " + MOST_RANKS + ")");
    }
    if (dpSize > 1 && rank(httpAddress) >= dpSize) {
      throw new IllegalArgumentException("http_address (expected: a rank below dp_size)");
    }
    merged(Peer.UNKNOWN, kvAddress, dpSize, tpSize, mode);
  }

  private static int rank(String httpAddress) {
    int at = httpAddress.indexOf('@');
    return at < 0 ? WorkerSpec.NO_RANK : Integer.parseInt(httpAddress.substring(at + 1));
  }

  /** The workers of the engine: one, or one for each rank. */
  List<WorkerSpec> workers() {
    int at = httpAddress.indexOf('@');
    String authority = at < 0 ? httpAddress : httpAddress.substring(0, at);
    WorkerSpec whole =
        new WorkerSpec(
            authority,
            "http://" + authority,
            role,
            Set.of(),
            WorkerSpec.NO_RANK,
            0,
            Map.of("registered", "zmq"));
    if (at >= 0) {
      return List.of(whole.atRank(rank(httpAddress)));
    }
    return dpSize == 1
        ? List.of(whole)
        : IntStream.range(0, dpSize).mapToObj(whole::atRank).toList();
  }

  /** Adds the engine's transfer data to {@code before}. */
  Peer merged(Peer before) {
    return merged(before, kvAddress, dpSize, tpSize, mode);
  }

  private static Peer merged(
      Peer before, String kvAddress, int dpSize, int tpSize, @Nullable TransferMode mode) {
    Peer peer = before.withKvAddress(kvAddress).withDpSize(dpSize).withTpSize(tpSize);
    return mode == null ? peer : peer.withMode(mode);
  }

  /** True if both registrations describe the same workers. */
  boolean sameWorkers(Announcement other) {
    return role == other.role && httpAddress.equals(other.httpAddress) && dpSize == other.dpSize;
  }
}
