package io.pointsman.sim.kv;

/**
 * Who an engine is to its peers.
 *
 * @param options how it hands KV over
 * @param engineId of this life of the engine; another after a restart
 * @param host it advertises
 * @param port of its side channel
 */
public record KvSelf(KvOptions options, String engineId, String host, int port) {
  /** The engine id of a data-parallel rank. */
  public String engineId(int rank) {
    return options.dpSize() == 1 ? engineId : engineId + "_dp" + rank;
  }

  /** What it tells the router by ZeroMQ: {@code host:port}, or MoRI-IO's three parts. */
  public String zmqAddress() {
    return switch (options.connector()) {
      case MORIIO_READ, MORIIO_WRITE -> "host:" + host + ",handshake:" + port + ",notify:" + port;
      case NIXL, NIXL_PUSH, LMCACHE, P2P_NCCL, MOONCAKE, SGLANG, ORCHESTRATED, NONE ->
          host + ":" + port;
    };
  }
}
