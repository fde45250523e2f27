package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.kv.Claim;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.Fields;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.Task.After;
import io.pointsman.tool.sim.kv.protocol.Task.Before;
import io.pointsman.tool.sim.kv.protocol.Task.SideChannel;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * NIXL: prefill describes its blocks, and decode fetches and releases them. With push, prefill
 * writes into decode's blocks, so decode may arrive first. It then identifies the request by its
 * {@code X-Request-Id}, which must be equal on both sides.
 */
record SimNixlProtocol(boolean push) implements KvProtocol {
  @Override
  public Task read(KvRequest request, KvSelf self) {
    Fields params = Directed.params(request);
    if (params == null) {
      return new Task.Direct();
    }
    return Directed.produces(params, self)
        ? produce(request, self, params)
        : consume(request, params);
  }

  private Task produce(KvRequest request, KvSelf self, Fields params) {
    PrefillForm.check(request);
    Before before = new Before.Nothing();
    if (self.options().bidirectional() && params.has("remote_engine_id")) {
      before = new Before.Pull(history(request, params));
    } else {
      for (String name :
          List.of("remote_engine_id", "remote_block_ids", "remote_host", "remote_port")) {
        params.isNull(name);
      }
      params.isNull("remote_request_id");
    }
    String own = request.internalId();
    boolean named = push && !request.requestId().isEmpty();
    List<String> keys = named ? List.of(own, request.requestId()) : List.of(own);
    int rank = request.rank(self.options().dpSize());
    return new Task.Produce(keys, request.idField(), rank, false, before, new After.Hold());
  }

  private Task.Consume consume(KvRequest request, Fields params) {
    request.single();
    String remote = params.text("remote_request_id");
    if (push && !paired(request, remote)) {
      throw FieldError.wrong(request.idField(), request.requestId(), "as in " + remote);
    }
    Claim claim = Claim.to(remote).from(params.text("remote_engine_id"));
    int tokens = request.promptTokens();
    if (!push) {
      claim = claim.blocks(params.blockLists("remote_block_ids"));
    }
    if (!push || params.has("remote_num_tokens")) {
      if (params.integer("remote_num_tokens", 1, Integer.MAX_VALUE) != tokens) {
        throw params.wrong("remote_num_tokens", tokens + ", the length of the prompt");
      }
    }
    claim = claim.ranks(params.integer("tp_size", 1, 64), -1, -1);
    return new Task.Consume(peer(params), claim.tokens(tokens, request.hash(tokens)), tokens, push);
  }

  /** Returns true if prefill's engine finds its own request by decode's id. */
  private static boolean paired(KvRequest request, String remote) {
    return remote.equals(request.requestId()) || KvRequest.baseId(remote).equals(request.baseId());
  }

  /** Claims the blocks that decode kept of the last turn: a proper prefix of this prompt. */
  private static Task.Consume history(KvRequest request, Fields params) {
    int tokens = params.integer("remote_num_tokens", 1, Integer.MAX_VALUE);
    if (tokens >= request.promptTokens()) {
      throw params.wrong("remote_num_tokens", "less than the prompt's " + request.promptTokens());
    }
    Claim claim =
        Claim.to(params.text("remote_request_id"))
            .from(params.text("remote_engine_id"))
            .blocks(params.blockLists("remote_block_ids"))
            .tokens(tokens, request.hash(tokens))
            .ranks(params.integer("tp_size", 1, 64), -1, -1);
    return new Task.Consume(peer(params), claim, tokens, false);
  }

  private static SideChannel peer(Fields params) {
    return new SideChannel(params.text("remote_host"), params.port("remote_port"), "remote_port");
  }

  /** The consuming part only, for protocols that wrap the same object. */
  static Task.Consume pull(KvRequest request, Fields params) {
    params.is("do_remote_prefill", true);
    params.is("do_remote_decode", false);
    return new SimNixlProtocol(false).consume(request, params);
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens) {
    ObjectNode params = KvProtocol.address(self, reserved, true);
    if (push) {
      params.remove("remote_block_ids");
      params.put("transfer_mode", "push");
    }
    return params;
  }
}
