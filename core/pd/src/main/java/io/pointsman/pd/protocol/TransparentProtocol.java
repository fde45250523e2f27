package io.pointsman.pd.protocol;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import java.util.List;

/**
 * The protocol {@code transparent}: prefill with one token, then decode with the client's own
 * request. The engines find each other's blocks by the prompt's content, for example with LMCache
 * in production-stack's {@code disaggregated_prefill}. The requests contain no transfer data.
 */
final class TransparentProtocol implements PdProtocol {
  private final ProtocolSettings settings;

  TransparentProtocol(ProtocolSettings settings) {
    this.settings = settings;
  }

  @Override
  public PdPlan plan(PdRequest request, Worker prefill, Worker decode) {
    return new PdPlan.Sequential(
        PdSteps.step(request, prefill, PrefillBody.edits(request.endpoint(), settings.minTokens())),
        null,
        (worker, _) -> PdSteps.decode(PdSteps.step(request, worker, List.of())),
        PdSteps.free(settings));
  }
}
