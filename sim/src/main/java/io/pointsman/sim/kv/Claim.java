package io.pointsman.sim.kv;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.sim.http.Json;
import org.jspecify.annotations.Nullable;

/**
 * What a reader says about the KV that it wants; the holder compares. Absent parts are not claimed.
 *
 * @param key under which it is held
 * @param engineId of the holder; null: not claimed
 * @param blockIds lists of the holder's blocks; null: not claimed
 * @param tokens whose KV is wanted; -1: not claimed
 * @param hash of those tokens; null: not claimed
 * @param tpSize of the holder; -1: not claimed
 * @param dpSize of the holder; -1: not claimed
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
  /** A claim to whatever is held under a key. */
  public static Claim to(String key) {
    return new Claim(key, null, null, -1, null, -1, -1, -1);
  }

  /** A copy that names the holder. */
  public Claim from(@Nullable String newEngineId) {
    return new Claim(key, newEngineId, blockIds, tokens, hash, tpSize, dpSize, rank);
  }

  /** A copy that names blocks. */
  public Claim blocks(@Nullable JsonNode newBlockIds) {
    return new Claim(key, engineId, newBlockIds, tokens, hash, tpSize, dpSize, rank);
  }

  /** A copy that names tokens. */
  public Claim tokens(int newTokens, String newHash) {
    return new Claim(key, engineId, blockIds, newTokens, newHash, tpSize, dpSize, rank);
  }

  /** A copy that names ranks. */
  public Claim ranks(int newTpSize, int newDpSize, int newRank) {
    return new Claim(key, engineId, blockIds, tokens, hash, newTpSize, newDpSize, newRank);
  }

  /** The request's field that the key came from. */
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

  /** As it goes over the side channel. */
  public ObjectNode write() {
    ObjectNode root = Json.object().put("key", key).put("engine_id", engineId);
    root.set("block_ids", blockIds);
    root.put("tokens", tokens).put("hash", hash);
    return root.put("tp_size", tpSize).put("dp_size", dpSize).put("rank", rank);
  }

  /** As it came over the side channel. */
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
