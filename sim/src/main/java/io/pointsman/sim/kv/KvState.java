package io.pointsman.sim.kv;

import java.util.List;
import java.util.Map;

/**
 * The truth about an engine's hand-overs at one moment.
 *
 * @param role its role
 * @param connector its protocol
 * @param engineId of its first rank
 * @param port of its side channel
 * @param initPorts of an LMCache decode engine
 * @param allocPorts of an LMCache decode engine
 * @param legs requests by what they were here
 * @param held blocks held for others
 * @param transfers KV on its way
 * @param fieldErrors wrong fields, by field
 * @param reasons the last wrong fields with their reasons, oldest first; bounded
 */
public record KvState(
    String role,
    String connector,
    String engineId,
    int port,
    List<Integer> initPorts,
    List<Integer> allocPorts,
    Legs legs,
    HeldBlocks held,
    Transfers transfers,
    Map<String, Long> fieldErrors,
    List<String> reasons) {
  /**
   * Requests.
   *
   * @param prefill that were to be handed over
   * @param decode that were to be taken over
   * @param direct without a hand-over
   * @param recomputed whose hand-over failed and whose prompt was computed here (lenient)
   */
  public record Legs(long prefill, long decode, long direct, long recomputed) {}

  /**
   * Requests and blocks held for others.
   *
   * @param requests held at the moment
   * @param blocks held at the moment
   * @param released requests whose blocks were given back by the other side
   * @param leaked requests whose lease ended first
   * @param leakedBlocks their blocks
   * @param renewals of leases
   */
  public record HeldBlocks(
      int requests, int blocks, long released, long leaked, long leakedBlocks, long renewals) {}

  /**
   * Transfers.
   *
   * @param waiting readers that wait for KV not yet produced here
   * @param inProgress on their way to or from this engine
   * @param maxInProgress most at once
   * @param finished complete
   * @param tokens whose KV was transferred
   */
  public record Transfers(
      int waiting, int inProgress, int maxInProgress, long finished, long tokens) {}

  /** Wrong fields in all. */
  public long fieldErrorsInAll() {
    return fieldErrors.values().stream().mapToLong(Long::longValue).sum();
  }
}
