package io.pointsman.sim.kv;

import java.util.List;

/**
 * How an engine hands KV over. The {@code with...} methods give changed copies.
 *
 * @param role what it does
 * @param connector the protocol it speaks
 * @param lenient whether wrong fields are counted and the prompt is computed again, as real engines
 *     do; else they are errors
 * @param direct whether an engine of one role serves requests without a hand-over whole
 * @param bidirectional whether decode keeps its blocks and describes them in its last chunk (NIXL)
 * @param port of the side channel; 0: any free one
 * @param leaseSeconds engine time for which blocks are held for the other side, above 0
 * @param decoderTtlSeconds the same for blocks that decode keeps for the next turn, above 0
 * @param waitSeconds wall time that one leg waits for the other, above 0
 * @param bytesPerToken of KV
 * @param gigabytesPerSecond of the link between engines, engine time; 0: no time
 * @param tpSize tensor-parallel ranks, at least 1
 * @param dpSize data-parallel ranks, at least 1
 * @param initPorts of an LMCache decode engine, one per rank; empty: any free ones
 * @param allocPorts the same for buffers
 * @param router host:port of the router's ZeroMQ socket; empty: none
 * @param pingSeconds wall time between registrations, above 0
 * @param store host:port of the side channel that keeps the shared store; empty: this engine's own
 * @param logged requests kept with headers and body for tests; 0: none
 */
public record KvOptions(
    KvRole role,
    KvConnector connector,
    boolean lenient,
    boolean direct,
    boolean bidirectional,
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
  /** Most requests that {@code logged} may ask for. */
  public static final int MOST_LOGGED = 100_000;

  /** Refuses figures out of range. */
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
   * Strict, alone, with a lease of 30 s: 128 KiB per token over 25 GB a second, as for a model of 8
   * billion parameters over 200 Gb/s.
   */
  public static KvOptions of(KvRole role, KvConnector connector) {
    return new KvOptions(
        role, connector, false, false, false, 0, 30, 480, 300, 131_072, 25, 1, 1, List.of(),
        List.of(), "", 2, "", 0);
  }

  /** Milliseconds of engine time that the KV of so many tokens is on its way. */
  public double transferMillis(int tokens) {
    return gigabytesPerSecond == 0 ? 0 : tokens * bytesPerToken / (gigabytesPerSecond * 1e6);
  }

  /** The lease in nanoseconds. */
  public long leaseNanos() {
    return (long) (leaseSeconds * 1e9);
  }

  /** A copy that counts wrong fields and computes the prompt again. */
  public KvOptions withLenient(boolean newLenient) {
    return copy(newLenient, direct, bidirectional, leaseSeconds, waitSeconds, logged);
  }

  /** A copy that serves requests without a hand-over whole. */
  public KvOptions withDirect(boolean newDirect) {
    return copy(lenient, newDirect, bidirectional, leaseSeconds, waitSeconds, logged);
  }

  /** A copy whose decode keeps its blocks for the next turn. */
  public KvOptions withBidirectional(boolean newBidirectional) {
    return copy(lenient, direct, newBidirectional, leaseSeconds, waitSeconds, logged);
  }

  /** A copy with another lease. */
  public KvOptions withLease(double newSeconds) {
    return copy(lenient, direct, bidirectional, newSeconds, waitSeconds, logged);
  }

  /** A copy whose decode keeps its blocks for the next turn for another time. */
  public KvOptions withDecoderTtl(double newSeconds) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
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

  /** A copy whose legs wait for each other for another time. */
  public KvOptions withWait(double newSeconds) {
    return copy(lenient, direct, bidirectional, leaseSeconds, newSeconds, logged);
  }

  /** A copy that keeps so many requests. */
  public KvOptions withLog(int newLogged) {
    return copy(lenient, direct, bidirectional, leaseSeconds, waitSeconds, newLogged);
  }

  /** A copy with other ranks. */
  public KvOptions withRanks(int newTpSize, int newDpSize) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
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

  /** A copy with another link; 0 gigabytes per second: no time. */
  public KvOptions withLink(long newBytesPerToken, double newGigabytesPerSecond) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
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

  /** A copy that pings or notifies a router. */
  public KvOptions withRouter(String newRouter, double newPingSeconds) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
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

  /** A copy that uses another engine's store. */
  public KvOptions withStore(String newStore) {
    return new KvOptions(
        role,
        connector,
        lenient,
        direct,
        bidirectional,
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
