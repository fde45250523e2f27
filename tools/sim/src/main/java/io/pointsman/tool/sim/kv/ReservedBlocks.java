package io.pointsman.tool.sim.kv;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of one finished request, reserved for another engine to read.
 *
 * @param keys keys under which they are found, the first being the request's own; at least one
 * @param engineId of the rank that holds them
 * @param rank data-parallel rank
 * @param tpSize tensor-parallel size of the holder
 * @param blockIds one list per KV group
 * @param blocks number of blocks
 * @param tokens number of tokens with valid KV
 * @param hash hash of those tokens
 * @param leaseNanos lease duration from now, in nanoseconds
 * @param free releases the memory; called once
 */
public record ReservedBlocks(
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
  public ReservedBlocks {
    keys = List.copyOf(keys);
  }

  /** The request's own key. */
  public String key() {
    return keys.getFirst();
  }

  /**
   * Compares a claim with the reserved blocks.
   *
   * @throws FieldError with the first field that differs
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
      throw FieldError.stale("prompt", "differs from the prompt of the reserved KV");
    }
  }

  private static void differ(String field, @Nullable Object claimed, Object there) {
    if (claimed != null && !claimed.equals(there)) {
      throw FieldError.stale(field, claimed + " (reserved: " + there + ")");
    }
  }
}
