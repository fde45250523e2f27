package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.kv.Claim;
import io.pointsman.tool.sim.kv.Fields;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.Task.After;
import io.pointsman.tool.sim.kv.protocol.Task.Before;
import io.pointsman.tool.sim.kv.protocol.Task.SideChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * SGLang: both requests have the same body with prefill's bootstrap address and a room, and run at
 * once. Prefill begins when decode has arrived at the room, and stops after one token. Requests
 * without a room are refused. With several data-parallel ranks, prefill runs on the requested rank,
 * else on the one derived from the room. Decode looks for it on the rank in its request, else on
 * the derived one.
 */
record SimSglangProtocol() implements KvProtocol {
  private static final String RANK = "routed_dp_rank";
  private static final String PREFILL_RANK = "disagg_prefill_dp_rank";
  private static final int MOST = 1023;
  private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "::1", "[::1]");

  @Override
  public Task read(KvRequest request, KvSelf self) {
    Fields body = request.fields();
    JsonNode room = body.at("bootstrap_room");
    if (!room.isIntegralNumber() || !room.canConvertToLong() || room.longValue() < 0) {
      throw body.wrong("bootstrap_room", "an integer of 0 to 2^63 - 1");
    }
    String host = body.text("bootstrap_host");
    int port = body.port("bootstrap_port");
    request.single();
    String key = "room:" + room.longValue();
    int rank = rank(request, self.options().dpSize(), room.longValue());
    boolean own = port == self.port() && same(host, self.host());
    KvRole role = self.options().role();
    if (role == KvRole.PREFILL || (role == KvRole.BOTH && own)) {
      if (!own) {
        String field = port == self.port() ? "bootstrap_host" : "bootstrap_port";
        throw body.wrong(field, "this engine's " + self.host() + ":" + self.port());
      }
      boolean follows = rank == room.longValue() % self.options().dpSize();
      List<String> found = follows ? List.of(key, on(key, rank)) : List.of(on(key, rank));
      List<String> keys = new ArrayList<>(List.of(request.internalId()));
      keys.addAll(found);
      return new Task.Produce(
          keys, "bootstrap_room", rank, true, new Before.Reader(found), new After.Hold());
    }
    int tokens = request.promptTokens();
    boolean named = body.has(PREFILL_RANK);
    String there = named ? on(key, body.integer(PREFILL_RANK, 0, MOST)) : key;
    Claim claim = Claim.to(there).tokens(tokens, request.hash(tokens));
    return new Task.Consume(new SideChannel(host, port, "bootstrap_port"), claim, tokens, true);
  }

  private static int rank(KvRequest request, int dpSize, long room) {
    Fields body = request.fields();
    if (!body.has(RANK)) {
      return request.rankHeader().isEmpty() ? (int) (room % dpSize) : request.rank(dpSize);
    }
    int rank = body.integer(RANK, 0, dpSize - 1);
    if (!request.rankHeader().isEmpty() && rank != request.rank(dpSize)) {
      throw body.wrong(RANK, "the header's " + request.rankHeader());
    }
    return rank;
  }

  private static String on(String key, int rank) {
    return key + "@" + rank;
  }

  private static boolean same(String one, String other) {
    return one.equals(other) || (LOOPBACK.contains(one) && LOOPBACK.contains(other));
  }

  @Override
  public @Nullable ObjectNode reply(
      KvRequest request, KvSelf self, ReservedBlocks reserved, int firstToken, int cachedTokens) {
    return null;
  }
}
