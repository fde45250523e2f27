package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.kv.Claim;
import io.pointsman.tool.sim.kv.Fields;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.Task.After;
import io.pointsman.tool.sim.kv.protocol.Task.Before;
import io.pointsman.tool.sim.kv.protocol.Task.SideChannel;
import java.net.URI;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Mooncake: both requests carry the router's transfer id and may arrive in any order. Decode finds
 * prefill by its bootstrap server and engine id.
 */
record SimMooncakeProtocol() implements KvProtocol {
  @Override
  public Task read(KvRequest request, KvSelf self) {
    Fields params = Directed.params(request);
    if (params == null) {
      return new Task.Direct();
    }
    if (Directed.produces(params, self)) {
      PrefillForm.check(request);
      List<String> keys = List.of(request.internalId(), key(params));
      int rank = request.rank(self.options().dpSize());
      return new Task.Produce(
          keys, "transfer_id", rank, false, new Before.Nothing(), new After.Hold());
    }
    request.single();
    int tokens = request.promptTokens();
    Claim claim =
        Claim.to(key(params))
            .from(params.text("remote_engine_id"))
            .tokens(tokens, request.hash(tokens));
    return new Task.Consume(bootstrap(params), claim, tokens, true);
  }

  private static String key(Fields params) {
    return "transfer:" + params.text("transfer_id");
  }

  private static SideChannel bootstrap(Fields params) {
    String field = "remote_bootstrap_addr";
    URI address;
    try {
      address = URI.create(params.text(field));
    } catch (IllegalArgumentException e) {
      throw params.wrong(field, "http://host:port");
    }
    String host = address.getHost();
    if (!"http".equals(address.getScheme()) || host == null || address.getPort() < 1) {
      throw params.wrong(field, "http://host:port");
    }
    return new SideChannel(host, address.getPort(), field);
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens) {
    return null;
  }
}
