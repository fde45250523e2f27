package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.Fields;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.Task.After;
import io.pointsman.tool.sim.kv.protocol.Task.Before;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * LMCache: prefill pushes its KV to the ports in {@code disagg_spec} and notifies the router by
 * ZeroMQ. If requested, it returns its token, which the router appends to decode's prompt. Decode
 * also finds the KV of a prompt without that token, because it looks for it by content.
 */
record SimLmcacheProtocol() implements KvProtocol {
  private static final String FIRST = "ret_first_tok";

  @Override
  public Task read(KvRequest request, KvSelf self) {
    KvRole role = self.options().role();
    Fields body = request.fields();
    if (role == KvRole.DECODE) {
      body.isNull("kv_transfer_params");
      return self.options().direct() && request.several() ? new Task.Direct() : decode(request);
    }
    Fields params = Directed.params(request);
    if (params == null) {
      return new Task.Direct();
    }
    PrefillForm.check(request);
    boolean first = returnsFirst(request);
    if (first) {
      params.is(FIRST, true);
      FieldError wrong = FirstTokenForm.wrong(request);
      if (wrong != null) {
        throw wrong;
      }
    }
    Fields spec = params.object("disagg_spec");
    String id = spec.text("req_id");
    String host = spec.text("receiver_host");
    int ranks = self.options().tpSize();
    Before init = new Before.Init(host, spec.ports("receiver_init_port", ranks));
    After push = new After.Push(id, host, spec.ports("receiver_alloc_port", ranks), first);
    return new Task.Produce(
        List.of(request.internalId()), "disagg_spec.req_id", 0, false, init, push);
  }

  private static Task decode(KvRequest request) {
    request.single();
    int tokens = request.promptTokens() - 1;
    if (tokens == 0) {
      return new Task.Direct();
    }
    String whole = request.hash(request.promptTokens());
    FieldError wrong = FirstTokenForm.wrong(request);
    return new Task.Arrived(request.hash(tokens), tokens, request.lastToken(), whole, wrong);
  }

  /** Returns true if a prefill request asks for its token. */
  private static boolean returnsFirst(KvRequest request) {
    return request.fields().at("kv_transfer_params").has(FIRST);
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens) {
    ObjectNode params = SimJson.object();
    if (returnsFirst(request)) {
      params.put("first_tok", firstToken);
    }
    return params.put("num_lmcache_cached_tokens", cachedTokens);
  }
}
