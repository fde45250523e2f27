package io.pointsman.pd.protocol;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Peers;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.request.splice.BodyEdit;
import java.util.List;

/**
 * The protocol {@code p2p_nccl}: vLLM's P2pNcclConnector. Each side takes the other's address from
 * the request id, which both requests carry. The bodies contain no transfer data. Prefill pushes
 * the blocks before it responds. A decode engine blocks its whole request loop, without a timeout,
 * on an id without blocks. Therefore no id is sent to it twice.
 */
final class P2pNcclProtocol implements PdProtocol {
  private final Peers peers;
  private final ProtocolSettings settings;

  P2pNcclProtocol(Peers peers, ProtocolSettings settings) {
    this.peers = peers;
    this.settings = settings;
  }

  @Override
  public PdPlan plan(PdRequest request, Worker prefill, Worker decode) {
    String from = PairId.address(peers, prefill);
    String to = PairId.address(peers, decode);
    if (!PairId.plain(from)) {
      return new PdPlan.Unplanned(prefill, PairId.EXPECTED);
    }
    if (!PairId.plain(to)) {
      return new PdPlan.Unplanned(decode, PairId.EXPECTED);
    }
    String id = PairId.of(from, to, request);
    List<BodyEdit> toPrefill = PrefillBody.edits(request.endpoint(), settings.minTokens());
    List<BodyEdit> toDecode = PdSteps.named(request, id, List.of());
    return new PdPlan.Sequential(
        PdSteps.step(request, prefill, id, PdSteps.named(request, id, toPrefill)),
        null,
        (worker, _) -> PdSteps.decode(PdSteps.step(request, worker, id, toDecode)),
        PdSteps.pushed(request, settings));
  }
}
