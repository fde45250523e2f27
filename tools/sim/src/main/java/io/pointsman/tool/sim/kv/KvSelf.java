package io.pointsman.tool.sim.kv;

/**
 * The identity of an engine for its peers.
 *
 * @param options its options for KV transfer
 * @param engineId changes with each restart
 * @param host advertised host
 * @param port of its side channel
 */
public record KvSelf(KvOptions options, String engineId, String host, int port) {
  /** The engine id of a data-parallel rank. */
  public String engineId(int rank) {
    return options.dpSize() == 1 ? engineId : engineId + "_dp" + rank;
  }

  /**
   * The address that it sends to the router by ZeroMQ: {@code host:port}, or MoRI-IO's three parts.
   */
  public String zmqAddress() {
    return switch (options.connector()) {
      case MORIIO_READ, MORIIO_WRITE -> "host:" + host + ",handshake:" + port + ",notify:" + port;
      case NIXL, NIXL_PUSH, LMCACHE, P2P_NCCL, MOONCAKE, SGLANG, ORCHESTRATED, NONE ->
          host + ":" + port;
    };
  }
}
