package io.pointsman.tool.sim.kv;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import org.jspecify.annotations.Nullable;

/**
 * A reader's description of the KV that it wants; the holder compares it. Absent parts are not
 * claimed.
 *
 * @param key key under which it is reserved
 * @param engineId engine id of the holder; null: not claimed
 * @param blockIds lists of the holder's blocks; null: not claimed
 * @param tokens number of tokens with this KV; -1: not claimed
 * @param hash hash of those tokens; null: not claimed
 * @param tpSize tensor-parallel size of the holder; -1: not claimed
 * @param dpSize data-parallel size of the holder; -1: not claimed
 * @param rank data-parallel rank that holds it; -1: not claimed
 */
public record Claim(
    String key,
    @Nullable String engineId,
    @Nullable JsonNode blockIds,
    int tokens,
    @Nullable String hash,
    int tpSize,
    int dpSize,
    int rank) {
  /** Creates a claim to anything reserved under a key. */
  public static Claim to(String key) {
    return new Claim(key, null, null, -1, null, -1, -1, -1);
  }

  /** Returns a copy with the holder's engine id. */
  public Claim from(@Nullable String newEngineId) {
    return new Claim(key, newEngineId, blockIds, tokens, hash, tpSize, dpSize, rank);
  }

  /** Returns a copy with block ids. */
  public Claim blocks(@Nullable JsonNode newBlockIds) {
    return new Claim(key, engineId, newBlockIds, tokens, hash, tpSize, dpSize, rank);
  }

  /** Returns a copy with tokens. */
  public Claim tokens(int newTokens, String newHash) {
    return new Claim(key, engineId, blockIds, newTokens, newHash, tpSize, dpSize, rank);
  }

  /** Returns a copy with sizes and a rank. */
  public Claim ranks(int newTpSize, int newDpSize, int newRank) {
    return new Claim(key, engineId, blockIds, tokens, hash, newTpSize, newDpSize, newRank);
  }

  /** The request's field that contains the key. */
  public String field() {
    if (key.startsWith("transfer:")) {
      return "transfer_id";
    }
    if (key.startsWith("room:")) {
      return "bootstrap_room";
    }
    if (!key.contains("___prefill_addr_")) {
      return "remote_request_id";
    }
    return key.startsWith("resp_") ? "request_id" : "X-Request-Id";
  }

  /** Serialises the claim for the side channel. */
  public ObjectNode write() {
    ObjectNode root = SimJson.object().put("key", key).put("engine_id", engineId);
    root.set("block_ids", blockIds);
    root.put("tokens", tokens).put("hash", hash);
    return root.put("tp_size", tpSize).put("dp_size", dpSize).put("rank", rank);
  }

  /** Parses a claim from the side channel. */
  public static Claim read(JsonNode root) {
    JsonNode blocks = root.path("block_ids");
    return new Claim(
        root.path("key").asText(""),
        root.path("engine_id").textValue(),
        blocks.isArray() ? blocks : null,
        root.path("tokens").asInt(-1),
        root.path("hash").textValue(),
        root.path("tp_size").asInt(-1),
        root.path("dp_size").asInt(-1),
        root.path("rank").asInt(-1));
  }
}
