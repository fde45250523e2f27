package io.pointsman.pd.rule;

import io.pointsman.engine.fleet.Lease;

/** The workers that serve a request. The holder must settle each of the leases. */
public sealed interface Placement {
  /** The rule that determined the placement. */
  SplitRule rule();

  /** One worker serves the whole request. */
  record Single(Lease lease, SplitRule rule) implements Placement {}

  /**
   * Two workers serve the request.
   *
   * @param prefill the lease for prefill; it ends with prefill
   * @param decode the lease for decode: reserved until {@link Lease#dispatched} reports that the
   *     decode request is sent. It ends with the response.
   */
  record Split(Lease prefill, Lease decode) implements Placement {
    @Override
    public SplitRule rule() {
      return SplitRule.SPLIT;
    }
  }
}
