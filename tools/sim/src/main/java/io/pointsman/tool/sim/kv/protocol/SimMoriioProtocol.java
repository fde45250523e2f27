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
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * MoRI-IO: addresses inside the request id, a transfer id in both requests, and the other side's
 * sizes. In READ mode decode reads the blocks named by prefill's response. In WRITE mode the
 * response names none, and both requests run at once.
 */
record SimMoriioProtocol(boolean write) implements KvProtocol {
  private static final int MOST = 1024;

  /** vLLM's rule for the end of decode's address. */
  private static final Pattern ADDRESSED = Pattern.compile("___decode_addr_.+_[0-9a-f]{32}(-.*)?$");

  @Override
  public Task read(KvRequest request, KvSelf self) {
    Fields params = Directed.params(request);
    if (params == null) {
      return new Task.Direct();
    }
    boolean produces = Directed.produces(params, self);
    AddressPair addresses = AddressPair.of(request);
    if (!ADDRESSED.matcher(request.internalId()).find()) {
      throw FieldError.wrong(
          request.idField(), request.requestId(), "32 hexadecimal digits at the end, or a hyphen");
    }
    return produces
        ? produce(request, self, params, addresses)
        : consume(request, self, params, addresses);
  }

  private Task produce(KvRequest request, KvSelf self, Fields params, AddressPair addresses) {
    PrefillForm.check(request);
    addresses.own("prefill", addresses.prefill(), self.zmqAddress());
    params.isNull("remote_engine_id");
    params.isNull("remote_block_ids");
    int dpSize = params.integer("remote_dp_size", 1, MOST);
    Before meet = new Before.Meet(addresses.peer(addresses.decode()), tpSize(params), dpSize);
    List<String> keys = List.of(request.internalId(), key(params));
    int rank = request.rank(self.options().dpSize());
    return new Task.Produce(keys, "transfer_id", rank, false, meet, new After.Hold());
  }

  private Task consume(KvRequest request, KvSelf self, Fields params, AddressPair addresses) {
    request.single();
    addresses.own("decode", addresses.decode(), self.zmqAddress());
    Claim claim = Claim.to(key(params));
    if (write) {
      params.isNull("remote_engine_id");
      params.isNull("remote_block_ids");
    } else {
      claim = claim.from(params.text("remote_engine_id"));
      claim = claim.blocks(params.blockLists("remote_block_ids"));
    }
    int dpSize = params.integer("remote_dp_size", 1, MOST);
    int rank = params.has("remote_dp_rank") ? params.integer("remote_dp_rank", 0, dpSize - 1) : -1;
    int tokens = request.promptTokens();
    claim = claim.ranks(tpSize(params), dpSize, rank).tokens(tokens, request.hash(tokens));
    SideChannel peer = addresses.peer(addresses.prefill());
    return new Task.Consume(peer, claim, tokens, write);
  }

  private int tpSize(Fields params) {
    boolean there = write || params.has("remote_tp_size");
    return there ? params.integer("remote_tp_size", 1, MOST) : -1;
  }

  private static String key(Fields params) {
    return "transfer:" + params.text("transfer_id");
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens) {
    if (write) {
      return null;
    }
    ObjectNode params = KvProtocol.address(self, reserved, true);
    Fields asked = request.fields().object("kv_transfer_params");
    params.put("remote_notify_port", self.port());
    return params.put("transfer_id", asked.text("transfer_id"));
  }
}
