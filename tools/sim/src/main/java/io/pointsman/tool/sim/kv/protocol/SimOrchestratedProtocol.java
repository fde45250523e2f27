package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.kv.Fields;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.Task.After;
import io.pointsman.tool.sim.kv.protocol.Task.Before;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Orchestrated: the prefill request asks for one token only. Decode receives its whole response as
 * {@code disagg_prefill_resp}, with the blocks described as in NIXL.
 */
record SimOrchestratedProtocol() implements KvProtocol {
  private static final String RESPONSE = "disagg_prefill_resp";

  @Override
  public Task read(KvRequest request, KvSelf self) {
    Fields body = request.fields();
    body.isNull("kv_transfer_params");
    KvRole role = self.options().role();
    if (body.has(RESPONSE)) {
      if (!role.decodes()) {
        throw body.wrong(RESPONSE, "nothing on a prefill engine");
      }
      return consume(request, body.object(RESPONSE));
    }
    if (role == KvRole.DECODE || (role == KvRole.BOTH && !oneToken(request))) {
      return new Task.Direct();
    }
    PrefillForm.check(request);
    return new Task.Produce(
        List.of(request.internalId()),
        RESPONSE,
        request.rank(self.options().dpSize()),
        false,
        new Before.Nothing(),
        new After.Hold());
  }

  private static Task consume(KvRequest request, Fields response) {
    request.single();
    if (request.path().endsWith("/completions")) {
      response.text("id");
      if (!response.at("choices").isArray()) {
        throw response.wrong("choices", "those of the prefill reply");
      }
      int tokens = request.promptTokens();
      response.object("usage").integer("prompt_tokens", tokens, tokens);
    }
    return response.has("kv_transfer_params")
        ? SimNixlProtocol.pull(request, response.object("kv_transfer_params"))
        : new Task.Direct();
  }

  private static boolean oneToken(KvRequest request) {
    return request.generation().outputTokens() == 1 && !request.generation().stopsByItself();
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens) {
    return KvProtocol.address(self, reserved, true);
  }
}
