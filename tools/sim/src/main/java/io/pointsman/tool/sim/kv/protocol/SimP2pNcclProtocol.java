package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.kv.Claim;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.Task.After;
import io.pointsman.tool.sim.kv.protocol.Task.Before;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * P2P NCCL: the request id, equal in both requests, contains both engines' addresses. Every request
 * needs one, even without a split; {@code kv_transfer_params} are ignored. Prefill pushes, and
 * decode keeps the KV for the one request with that id. For an unknown id, vLLM blocks the loop of
 * all requests without a timeout; here only that request waits.
 */
record SimP2pNcclProtocol() implements KvProtocol {
  @Override
  public Task read(KvRequest request, KvSelf self) {
    AddressPair addresses = AddressPair.of(request);
    if (prefills(addresses, self)) {
      addresses.own("prefill", addresses.prefill(), self.zmqAddress());
      PrefillForm.check(request);
      List<String> keys = List.of(request.internalId(), request.requestId());
      Task.SideChannel decode = addresses.peer(addresses.decode());
      Before meet = new Before.Meet(decode, -1, -1);
      After send = new After.Send(decode, request.requestId());
      return new Task.Produce(keys, request.idField(), 0, false, meet, send);
    }
    addresses.own("decode", addresses.decode(), self.zmqAddress());
    request.single();
    int tokens = request.promptTokens();
    Claim claim = Claim.to(request.requestId()).tokens(tokens, request.hash(tokens));
    return new Task.Awaited(claim, tokens);
  }

  private static boolean prefills(AddressPair addresses, KvSelf self) {
    KvRole role = self.options().role();
    return role == KvRole.PREFILL
        || (role == KvRole.BOTH && addresses.prefill().equals(self.zmqAddress()));
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens) {
    return null;
  }
}
