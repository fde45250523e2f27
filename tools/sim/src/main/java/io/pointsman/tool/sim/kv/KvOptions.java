package io.pointsman.tool.sim.kv;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;

/**
 * An engine's options for KV transfer. The {@code with...} methods return changed copies.
 *
 * @param role the engine's role
 * @param connector the protocol
 * @param lenient true: wrong fields are counted and the prompt is recomputed, as in real engines;
 *     false: they are errors
 * @param direct true if an engine of one role serves requests without a handover completely
 * @param bidirectional true if decode keeps its blocks and describes them in its answer (NIXL)
 * @param paramsInStreams true if it also describes them in the last chunk of a stream. vLLM 0.32
 *     does not
 * @param port of the side channel; 0: any free one
 * @param leaseSeconds engine time for which blocks are reserved for the other side, above 0
 * @param decoderTtlSeconds the same for blocks that decode keeps for the next turn, above 0
 * @param waitSeconds longest wall time that one request waits for the other, above 0
 * @param bytesPerToken KV bytes per token
 * @param gigabytesPerSecond bandwidth between engines, in engine time; 0: no time
 * @param tpSize tensor-parallel ranks, at least 1
 * @param dpSize data-parallel ranks, at least 1
 * @param initPorts of an LMCache decode engine, one per rank; empty: any free ones
 * @param allocPorts the same for buffers
 * @param router host:port of the router's ZeroMQ socket; empty: none
 * @param pingSeconds wall time between registrations, above 0
 * @param store host:port of the side channel with the common store; empty: this engine's own
 * @param logged number of requests kept with headers and body for tests; 0: none
 */
@RecordBuilder
public record KvOptions(
    KvRole role,
    KvConnector connector,
    boolean lenient,
    boolean direct,
    boolean bidirectional,
    boolean paramsInStreams,
    int port,
    double leaseSeconds,
    double decoderTtlSeconds,
    double waitSeconds,
    long bytesPerToken,
    double gigabytesPerSecond,
    int tpSize,
    int dpSize,
    List<Integer> initPorts,
    List<Integer> allocPorts,
    String router,
    double pingSeconds,
    String store,
    int logged)
    implements KvOptionsBuilder.With {
  /** Maximum of {@code logged}. */
  public static final int MOST_LOGGED = 100_000;

  /** Rejects values out of range. */
  public KvOptions {
    check("kv-port", port >= 0 && port <= 65_535, port, "0 to 65535");
    check("kv-lease", leaseSeconds > 0, leaseSeconds, "above 0");
    check("kv-decoder-ttl", decoderTtlSeconds > 0, decoderTtlSeconds, "above 0");
    check("kv-wait", waitSeconds > 0, waitSeconds, "above 0");
    check("kv-bytes-per-token", bytesPerToken >= 0, bytesPerToken, "at least 0");
    check("kv-bandwidth", gigabytesPerSecond >= 0, gigabytesPerSecond, "at least 0");
    check("tp-size", tpSize >= 1 && tpSize <= 64, tpSize, "1 to 64");
    check("dp-size", dpSize >= 1 && dpSize <= 1024, dpSize, "1 to 1024");
    check("kv-ping", pingSeconds > 0, pingSeconds, "above 0");
    check("kv-log", logged >= 0 && logged <= MOST_LOGGED, logged, "0 to " + MOST_LOGGED);
    initPorts = perRank("kv-init-ports", initPorts, tpSize);
    allocPorts = perRank("kv-alloc-ports", allocPorts, tpSize);
    if (connector.registers() && role == KvRole.BOTH && !router.isEmpty()) {
      throw new IllegalArgumentException(
          "role: both (expected: prefill or decode, as engines register as one of them)");
    }
    address("kv-router", router);
    address("kv-store", store);
  }

  /**
   * Strict defaults with a lease of 30 s. The link has 128 KiB per token at 25 GB/s, as for a model
   * of 8 billion parameters over 200 Gb/s.
   */
  public static KvOptions of(KvRole role, KvConnector connector) {
    return new KvOptions(
        role, connector, false, false, false, false, 0, 30, 480, 300, 131_072, 25, 1, 1, List.of(),
        List.of(), "", 2, "", 0);
  }

  /** Milliseconds of engine time for the transfer of this number of tokens. */
  public double transferMillis(int tokens) {
    return gigabytesPerSecond == 0 ? 0 : tokens * bytesPerToken / (gigabytesPerSecond * 1e6);
  }

  /** The lease in nanoseconds. */
  public long leaseNanos() {
    return (long) (leaseSeconds * 1e9);
  }

  public KvOptions withRanks(int newTpSize, int newDpSize) {
    return with().tpSize(newTpSize).dpSize(newDpSize).build();
  }

  /** Returns a copy with another link; 0 gigabytes per second: no time. */
  public KvOptions withLink(long newBytesPerToken, double newGigabytesPerSecond) {
    return with().bytesPerToken(newBytesPerToken).gigabytesPerSecond(newGigabytesPerSecond).build();
  }

  /** Returns a copy that registers with or notifies a router. */
  public KvOptions withRouter(String newRouter, double newPingSeconds) {
    return with().router(newRouter).pingSeconds(newPingSeconds).build();
  }

  private static void check(String name, boolean good, Number value, String expected) {
    if (!good) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: " + expected + ")");
    }
  }

  private static void address(String name, String value) {
    if (!value.isEmpty() && !value.matches(".+:[0-9]{1,5}")) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: host:port)");
    }
  }

  private static List<Integer> perRank(String name, List<Integer> ports, int ranks) {
    if (!ports.isEmpty() && ports.size() != ranks) {
      throw new IllegalArgumentException(
          name + ": " + ports + " (expected: one port for each of " + ranks + " ranks)");
    }
    return List.copyOf(ports);
  }
}
