package io.pointsman.tool.sim.kv;

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
 * @param leaseSeconds engine time for which blocks are held for the other side, above 0
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
    int logged) {
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

  /** Returns a copy that counts wrong fields and recomputes the prompt. */
  public KvOptions withLenient(boolean newLenient) {
    return copy(newLenient, direct, bidirectional, leaseSeconds, waitSeconds, logged);
  }

  /** Returns a copy that serves requests without a handover. */
  public KvOptions withDirect(boolean newDirect) {
    return copy(lenient, newDirect, bidirectional, leaseSeconds, waitSeconds, logged);
  }

  /** Returns a copy with a decode role that keeps its blocks for the next turn. */
  public KvOptions withBidirectional(boolean newBidirectional) {
    return copy(lenient, direct, newBidirectional, leaseSeconds, waitSeconds, logged);
  }

  /** Returns a copy that describes kept blocks in streams too. */
  public KvOptions withParamsInStreams(boolean newParamsInStreams) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
        newParamsInStreams,
        port,
        leaseSeconds,
        decoderTtlSeconds,
        waitSeconds,
        bytesPerToken,
        gigabytesPerSecond,
        tpSize,
        dpSize,
        initPorts,
        allocPorts,
        router,
        pingSeconds,
        store,
        logged);
  }

  public KvOptions withLease(double newSeconds) {
    return copy(lenient, direct, bidirectional, newSeconds, waitSeconds, logged);
  }

  /** Returns a copy with another retention of blocks for the next turn. */
  public KvOptions withDecoderTtl(double newSeconds) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
        paramsInStreams,
        port,
        leaseSeconds,
        newSeconds,
        waitSeconds,
        bytesPerToken,
        gigabytesPerSecond,
        tpSize,
        dpSize,
        initPorts,
        allocPorts,
        router,
        pingSeconds,
        store,
        logged);
  }

  /** Returns a copy with another longest wait for the other request. */
  public KvOptions withWait(double newSeconds) {
    return copy(lenient, direct, bidirectional, leaseSeconds, newSeconds, logged);
  }

  /** Returns a copy that keeps this number of requests. */
  public KvOptions withLog(int newLogged) {
    return copy(lenient, direct, bidirectional, leaseSeconds, waitSeconds, newLogged);
  }

  public KvOptions withRanks(int newTpSize, int newDpSize) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
        paramsInStreams,
        port,
        leaseSeconds,
        decoderTtlSeconds,
        waitSeconds,
        bytesPerToken,
        gigabytesPerSecond,
        newTpSize,
        newDpSize,
        initPorts,
        allocPorts,
        router,
        pingSeconds,
        store,
        logged);
  }

  /** Returns a copy with another link; 0 gigabytes per second: no time. */
  public KvOptions withLink(long newBytesPerToken, double newGigabytesPerSecond) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
        paramsInStreams,
        port,
        leaseSeconds,
        decoderTtlSeconds,
        waitSeconds,
        newBytesPerToken,
        newGigabytesPerSecond,
        tpSize,
        dpSize,
        initPorts,
        allocPorts,
        router,
        pingSeconds,
        store,
        logged);
  }

  /** Returns a copy that registers with or notifies a router. */
  public KvOptions withRouter(String newRouter, double newPingSeconds) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
        paramsInStreams,
        port,
        leaseSeconds,
        decoderTtlSeconds,
        waitSeconds,
        bytesPerToken,
        gigabytesPerSecond,
        tpSize,
        dpSize,
        initPorts,
        allocPorts,
        newRouter,
        newPingSeconds,
        store,
        logged);
  }

  /** Returns a copy that uses another engine's store. */
  public KvOptions withStore(String newStore) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
        paramsInStreams,
        port,
        leaseSeconds,
        decoderTtlSeconds,
        waitSeconds,
        bytesPerToken,
        gigabytesPerSecond,
        tpSize,
        dpSize,
        initPorts,
        allocPorts,
        router,
        pingSeconds,
        newStore,
        logged);
  }

  private KvOptions copy(
      boolean newLenient,
      boolean newDirect,
      boolean newBidirectional,
      double newLease,
      double newWait,
      int newLogged) {
    return new KvOptions(
        role,
        connector,
        newLenient,
        newDirect,
        newBidirectional,
        paramsInStreams,
        port,
        newLease,
        decoderTtlSeconds,
        newWait,
        bytesPerToken,
        gigabytesPerSecond,
        tpSize,
        dpSize,
        initPorts,
        allocPorts,
        router,
        pingSeconds,
        store,
        newLogged);
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
