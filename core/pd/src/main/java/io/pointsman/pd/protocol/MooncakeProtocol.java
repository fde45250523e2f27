package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PrefillBody.KV_TRANSFER_PARAMS;
import static io.pointsman.request.splice.BodyEdit.put;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Address;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.Peers;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.Terms.Bond;
import io.pointsman.proxy.wire.Header;
import io.pointsman.request.splice.RawJson;
import java.util.List;

/**
 * The protocol {@code mooncake}: vLLM's MooncakeConnector. Both requests are sent at once and match
 * by a transfer id. Decode finds the prefill engine by the address of its bootstrap server and its
 * engine id. The bootstrap server reports one engine id for each data-parallel rank.
 */
final class MooncakeProtocol implements PdProtocol {
  private static final int BOOTSTRAP_PORT = 8998;

  private final Peers peers;
  private final ProtocolSettings settings;

  MooncakeProtocol(Peers peers, ProtocolSettings settings) {
    this.peers = peers;
    this.settings = settings;
  }

  @Override
  public PdPlan plan(PdRequest request, Worker prefill, Worker decode) {
    Peer peer = peers.of(prefill);
    int rank = rank(request, prefill, peer);
    if (rank >= peer.engineIds().size()) {
      return new PdPlan.Unplanned(prefill, "its engine id (from its bootstrap server)");
    }
    if (peer.engineIds().size() > 1 && !PdSteps.readsRank(request)) {
      return new PdPlan.Unplanned(prefill, "the rank that computes /v1/responses");
    }
    String transfer = "xfer-" + request.nonce();
    RawJson toPrefill =
        new Params()
            .with("do_remote_decode", true)
            .with("do_remote_prefill", false)
            .with("transfer_id", transfer)
            .json();
    RawJson toDecode =
        new Params()
            .with("do_remote_decode", false)
            .with("do_remote_prefill", true)
            .with("transfer_id", transfer)
            .with("remote_engine_id", peer.engineIds().get(rank))
            .with("remote_bootstrap_addr", bootstrap(prefill, peer))
            .json();
    PdStep prefillStep =
        PdSteps.step(
            request,
            prefill,
            List.of(
                new Header(Header.REQUEST_ID, request.id()),
                new Header(Header.RANK, Integer.toString(rank))),
            PrefillBody.edits(
                request.endpoint(), settings.minTokens(), put(toPrefill, KV_TRANSFER_PARAMS)));
    return new PdPlan.Concurrent(
        prefillStep,
        PdSteps.step(request, decode, List.of(put(toDecode, KV_TRANSFER_PARAMS))),
        PdSteps.together(request, Bond.ANY_DECODE, settings),
        null);
  }

  /** Returns the worker's own rank, or one of its engine's ranks with equal probability. */
  private static int rank(PdRequest request, Worker prefill, Peer peer) {
    int ranks = Math.max(1, peer.engineIds().size());
    return prefill.spec().rank() >= 0
        ? prefill.spec().rank()
        : Math.floorMod(request.nonce().hashCode(), ranks);
  }

  private static String bootstrap(Worker prefill, Peer peer) {
    int port = peer.bootstrapPort() == 0 ? BOOTSTRAP_PORT : peer.bootstrapPort();
    return "http://" + Address.urlHost(prefill) + ":" + port;
  }
}
