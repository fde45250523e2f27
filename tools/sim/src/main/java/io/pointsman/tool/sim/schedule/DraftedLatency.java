package io.pointsman.tool.sim.schedule;

/**
 * Step times with speculative decoding: a step with decoding sequences drafts tokens and verifies
 * them.
 *
 * @param step step times without it
 * @param draftMillis time for drafting, for all sequences together
 * @param verifyMicros time for verifying the drafted tokens of one sequence
 */
public record DraftedLatency(SimLatencyModel step, double draftMillis, double verifyMicros)
    implements SimLatencyModel {
  @Override
  public long stepNanos(Step work) {
    double extra =
        work.decoding() == 0 ? 0 : draftMillis * 1e6 + verifyMicros * 1e3 * work.decoding();
    return step.stepNanos(work) + Math.round(extra);
  }
}
