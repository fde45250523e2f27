package io.pointsman.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.sim.http.Json;
import io.pointsman.sim.kv.Held;
import io.pointsman.sim.kv.KvConnector;
import io.pointsman.sim.kv.KvSelf;
import org.jspecify.annotations.Nullable;

/** One hand-over protocol, without sockets. */
public interface KvProtocol {
  /**
   * What a request wants.
   *
   * @throws io.pointsman.sim.kv.FieldError naming the first wrong field
   */
  Task read(KvRequest request, KvSelf self);

  /**
   * What prefill adds to its reply as {@code kv_transfer_params}; null: null there, or nothing.
   *
   * @param held the blocks held
   * @param firstToken the token produced
   * @param cachedTokens of the prompt found in the prefix cache
   */
  @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, Held held, int firstToken, int cachedTokens);

  /** The protocol of a connector. */
  static KvProtocol of(KvConnector connector) {
    return switch (connector) {
      case NIXL -> new NixlProtocol(false);
      case NIXL_PUSH -> new NixlProtocol(true);
      case LMCACHE -> new LmcacheProtocol();
      case P2P_NCCL -> new P2pNcclProtocol();
      case MOONCAKE -> new MooncakeProtocol();
      case MORIIO_READ -> new MoriioProtocol(false);
      case MORIIO_WRITE -> new MoriioProtocol(true);
      case SGLANG -> new SglangProtocol();
      case ORCHESTRATED -> new OrchestratedProtocol();
      case NONE -> new ContentProtocol();
    };
  }

  /** Where held blocks are, in the words of vLLM. */
  static ObjectNode address(KvSelf self, Held held, boolean forDecode) {
    ObjectNode params = Json.object();
    params.put("do_remote_prefill", forDecode).put("do_remote_decode", !forDecode);
    params.set("remote_block_ids", held.blockIds());
    params.put("remote_engine_id", held.engineId()).put("remote_request_id", held.key());
    params.put("remote_host", self.host()).put("remote_port", self.port());
    return params.put("tp_size", held.tpSize()).put("remote_num_tokens", held.tokens());
  }
}
