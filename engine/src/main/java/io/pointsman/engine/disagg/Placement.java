package io.pointsman.engine.disagg;

import io.pointsman.engine.fleet.Lease;

/** Who serves a request. Whoever holds it must settle each of its leases. */
public sealed interface Placement {
  /** The rule that decided it. */
  SplitRule rule();

  /** One worker serves the whole request. */
  record Single(Lease lease, SplitRule rule) implements Placement {}

  /**
   * Two workers serve it.
   *
   * @param prefill ends when prefill ends
   * @param decode reserved until the decode request is sent, which {@link Lease#dispatched} says;
   *     ends at the end of the answer
   */
  record Split(Lease prefill, Lease decode) implements Placement {
    @Override
    public SplitRule rule() {
      return SplitRule.SPLIT;
    }
  }
}
