package io.pointsman.pd.protocol;

import static io.pointsman.request.splice.BodyEdit.put;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.Terms.Bond;
import java.util.List;

/**
 * The protocol {@code orchestrated}: the decode request carries the whole prefill response as
 * {@code disagg_prefill_resp} (vLLM on Neuron, AIBrix). Only the engines interpret it.
 */
final class OrchestratedProtocol implements PdProtocol {
  private static final String RESPONSE = "disagg_prefill_resp";

  private final ProtocolSettings settings;

  OrchestratedProtocol(ProtocolSettings settings) {
    this.settings = settings;
  }

  @Override
  public PdPlan plan(PdRequest request, Worker prefill, Worker decode) {
    return new PdPlan.Sequential(
        PdSteps.step(request, prefill, PrefillBody.edits(request.endpoint(), settings.minTokens())),
        null,
        (worker, reply) ->
            PdSteps.decode(PdSteps.step(request, worker, List.of(put(reply.body(), RESPONSE)))),
        PdSteps.reserved(request, Bond.ANY_DECODE, settings));
  }
}
