package io.pointsman.tool.sim.kv;

import java.util.List;
import java.util.Map;

/**
 * The actual state of an engine's KV transfers at one moment.
 *
 * @param role its role
 * @param connector its protocol
 * @param engineId of its first rank
 * @param port of its side channel
 * @param initPorts of an LMCache decode engine
 * @param allocPorts of an LMCache decode engine
 * @param steps requests by kind
 * @param reserved blocks reserved for others
 * @param transfers KV transfers
 * @param fieldErrors wrong fields, by name
 * @param reasons the last wrong fields with their reasons, oldest first; bounded
 */
public record KvState(
    String role,
    String connector,
    String engineId,
    int port,
    List<Integer> initPorts,
    List<Integer> allocPorts,
    StepCounts steps,
    ReservedCounts reserved,
    Transfers transfers,
    Map<String, Long> fieldErrors,
    List<String> reasons) {
  /**
   * Requests by kind.
   *
   * @param prefill requests for prefill
   * @param decode requests for decode
   * @param direct requests without a handover
   * @param recomputed requests with a failed handover and a prompt computed here (lenient)
   */
  public record StepCounts(long prefill, long decode, long direct, long recomputed) {}

  /**
   * Requests and blocks reserved for others.
   *
   * @param requests reserved at the moment
   * @param blocks reserved at the moment
   * @param released requests released by the other side
   * @param leaked requests with an expired lease
   * @param leakedBlocks their blocks
   * @param renewals number of lease renewals
   */
  public record ReservedCounts(
      int requests, int blocks, long released, long leaked, long leakedBlocks, long renewals) {}

  /**
   * Transfers.
   *
   * @param waiting readers that wait for KV not produced here yet
   * @param inProgress transfers to or from this engine in progress
   * @param maxInProgress maximum in progress at once
   * @param finished completed transfers
   * @param tokens number of tokens transferred
   */
  public record Transfers(
      int waiting, int inProgress, int maxInProgress, long finished, long tokens) {}

  /** Total number of wrong fields. */
  public long fieldErrorsInAll() {
    return fieldErrors.values().stream().mapToLong(Long::longValue).sum();
  }
}
