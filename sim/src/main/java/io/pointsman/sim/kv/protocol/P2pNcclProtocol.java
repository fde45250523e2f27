package io.pointsman.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.sim.kv.Claim;
import io.pointsman.sim.kv.Held;
import io.pointsman.sim.kv.KvRole;
import io.pointsman.sim.kv.KvSelf;
import io.pointsman.sim.kv.protocol.Task.After;
import io.pointsman.sim.kv.protocol.Task.Before;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * P2P NCCL: the request id, equal on both legs, names both engines. Every request needs one, also
 * those that were not to be split; {@code kv_transfer_params} are ignored.
 */
record P2pNcclProtocol() implements KvProtocol {
  @Override
  public Task read(KvRequest request, KvSelf self) {
    Addresses addresses = Addresses.of(request);
    if (prefills(addresses, self)) {
      Addresses.own("prefill", addresses.prefill(), self.zmqAddress());
      PrefillForm.check(request);
      List<String> keys = List.of(request.internalId(), request.requestId());
      Before meet = new Before.Meet(Addresses.peer(addresses.decode()), -1, -1);
      return new Task.Produce(keys, "X-Request-Id", 0, false, meet, new After.Hold());
    }
    Addresses.own("decode", addresses.decode(), self.zmqAddress());
    request.single();
    int tokens = request.promptTokens();
    Claim claim = Claim.to(request.requestId()).tokens(tokens, request.hash(tokens));
    return new Task.Consume(Addresses.peer(addresses.prefill()), claim, tokens, false);
  }

  private static boolean prefills(Addresses addresses, KvSelf self) {
    KvRole role = self.options().role();
    return role == KvRole.PREFILL
        || (role == KvRole.BOTH && addresses.prefill().equals(self.zmqAddress()));
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, Held held, int firstToken, int cachedTokens) {
    return null;
  }
}
