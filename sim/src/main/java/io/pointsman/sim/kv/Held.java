package io.pointsman.sim.kv;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of one finished request that another engine is to read.
 *
 * @param keys under which they are found, the first being the request's own; at least one
 * @param engineId of the rank that holds them
 * @param rank data-parallel rank
 * @param tpSize of the holder
 * @param blockIds one list per KV group
 * @param blocks how many
 * @param tokens whose KV is valid
 * @param hash of those tokens
 * @param leaseNanos time from now to the end of the lease
 * @param free gives the memory back; called once
 */
public record Held(
    List<String> keys,
    String engineId,
    int rank,
    int tpSize,
    ArrayNode blockIds,
    int blocks,
    int tokens,
    String hash,
    long leaseNanos,
    Runnable free) {
  /** Copies the keys. */
  public Held {
    keys = List.copyOf(keys);
  }

  /** The request's own key. */
  public String key() {
    return keys.getFirst();
  }

  /**
   * Compares a claim with what is there.
   *
   * @throws FieldError naming the first field that differs
   */
  public void check(Claim claim) {
    differ("remote_engine_id", claim.engineId(), engineId);
    differ("remote_block_ids", claim.blockIds(), blockIds);
    if (claim.tpSize() >= 0) {
      differ("tp_size", claim.tpSize(), tpSize);
    }
    if (claim.rank() >= 0) {
      differ("remote_dp_rank", claim.rank(), rank);
    }
    if (claim.tokens() >= 0) {
      differ("remote_num_tokens", claim.tokens(), tokens);
    }
    if (claim.hash() != null && !claim.hash().equals(hash)) {
      throw FieldError.stale("prompt", "differs from the one whose KV is held");
    }
  }

  private static void differ(String field, @Nullable Object claimed, Object there) {
    if (claimed != null && !claimed.equals(there)) {
      throw FieldError.stale(field, claimed + " (held: " + there + ")");
    }
  }
}
