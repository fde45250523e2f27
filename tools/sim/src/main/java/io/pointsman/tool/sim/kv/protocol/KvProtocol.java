package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import org.jspecify.annotations.Nullable;

/** One protocol for KV transfer, without sockets. */
public interface KvProtocol {
  /**
   * Returns the task of a request.
   *
   * @throws io.pointsman.tool.sim.kv.FieldError with the first wrong field
   */
  Task read(KvRequest request, KvSelf self);

  /**
   * Returns the {@code kv_transfer_params} that prefill adds to its response; null: the value null,
   * or none.
   *
   * @param reserved the reserved blocks
   * @param firstToken the generated token
   * @param cachedTokens prompt tokens found in the prefix cache
   */
  @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens);

  /** The protocol of a connector. */
  static KvProtocol of(KvConnector connector) {
    return switch (connector) {
      case NIXL -> new SimNixlProtocol(false);
      case NIXL_PUSH -> new SimNixlProtocol(true);
      case LMCACHE -> new SimLmcacheProtocol();
      case P2P_NCCL -> new SimP2pNcclProtocol();
      case MOONCAKE -> new SimMooncakeProtocol();
      case MORIIO_READ -> new SimMoriioProtocol(false);
      case MORIIO_WRITE -> new SimMoriioProtocol(true);
      case SGLANG -> new SimSglangProtocol();
      case ORCHESTRATED -> new SimOrchestratedProtocol();
      case NONE -> new ContentProtocol();
    };
  }

  /** The location of reserved blocks in vLLM's form. */
  static ObjectNode address(KvSelf self, ReservedBlocks reserved, boolean forDecode) {
    ObjectNode params = SimJson.object();
    params.put("do_remote_prefill", forDecode).put("do_remote_decode", !forDecode);
    params.set("remote_block_ids", reserved.blockIds());
    params.put("remote_engine_id", reserved.engineId()).put("remote_request_id", reserved.key());
    params.put("remote_host", self.host()).put("remote_port", self.port());
    return params.put("tp_size", reserved.tpSize()).put("remote_num_tokens", reserved.tokens());
  }
}
