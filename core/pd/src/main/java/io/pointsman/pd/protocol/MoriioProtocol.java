package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PrefillBody.KV_TRANSFER_PARAMS;
import static io.pointsman.request.splice.BodyEdit.put;
import static io.pointsman.request.splice.BodyEdit.remove;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.Peer.TransferMode;
import io.pointsman.pd.peer.Peers;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.plan.Terms.Bond;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.RawJson;
import java.util.ArrayList;
import java.util.List;

/**
 * The protocol {@code moriio}: MoRI-IO on ROCm. The request id contains the addresses, as with
 * {@code p2p_nccl}. Each side receives the other's sizes. In mode READ decode reads the blocks, so
 * its request follows prefill and carries data from its response. In mode WRITE prefill writes
 * them, so both requests are sent at once.
 */
final class MoriioProtocol implements PdProtocol {
  private static final String DP_SIZE = "remote_dp_size";
  private static final String TP_SIZE = "remote_tp_size";
  private static final String DP_RANK = "remote_dp_rank";
  private static final String TRANSFER = "transfer_id";

  private final Peers peers;
  private final ProtocolSettings settings;

  MoriioProtocol(Peers peers, ProtocolSettings settings) {
    this.peers = peers;
    this.settings = settings;
  }

  @Override
  public PdPlan plan(PdRequest request, Worker prefill, Worker decode) {
    Peer from = peers.of(prefill);
    Peer to = peers.of(decode);
    TransferMode mode = from.mode();
    if (mode == null || from.kvAddress() == null) {
      return new PdPlan.Unplanned(prefill, "its registration");
    }
    if (to.kvAddress() == null || to.mode() != mode) {
      return new PdPlan.Unplanned(decode, "its registration in mode " + mode);
    }
    String id = PairId.of(from.kvAddress(), to.kvAddress(), request);
    RawJson params = toPrefill(request, to);
    PdStep first =
        step(
            request,
            prefill,
            id,
            PrefillBody.edits(
                request.endpoint(), settings.minTokens(), put(params, KV_TRANSFER_PARAMS)));
    return switch (mode) {
      case READ ->
          new PdPlan.Sequential(
              first,
              null,
              (worker, reply) ->
                  PdSteps.decode(step(request, worker, id, carried(request, prefill, from, reply))),
              PdSteps.reserved(request, Bond.THIS_DECODE, settings));
      case WRITE ->
          new PdPlan.Concurrent(
              first,
              step(request, decode, id, written(request, prefill, from)),
              PdSteps.together(request, Bond.THIS_DECODE, settings),
              null);
    };
  }

  private static PdStep step(PdRequest request, Worker worker, String id, List<BodyEdit> edits) {
    return PdSteps.step(request, worker, id, PdSteps.named(request, id, edits));
  }

  private static RawJson toPrefill(PdRequest request, Peer decode) {
    return new Params()
        .with("do_remote_decode", true)
        .with("do_remote_prefill", false)
        .withNull("remote_engine_id")
        .withNull("remote_block_ids")
        .with(TRANSFER, transfer(request))
        .with(DP_SIZE, decode.dpSize())
        .with(TP_SIZE, decode.tpSize())
        .json();
  }

  private static List<BodyEdit> carried(
      PdRequest request, Worker prefill, Peer from, PrefillReply reply) {
    RawJson params = reply.kvTransferParams();
    if (params == null) {
      return List.of(remove(KV_TRANSFER_PARAMS));
    }
    List<BodyEdit> within = new ArrayList<>();
    within.add(put(RawJson.of(from.dpSize()), DP_SIZE));
    within.add(put(RawJson.of(from.tpSize()), TP_SIZE));
    within.add(put(RawJson.string(transfer(request)), TRANSFER));
    if (ranked(request, prefill, from)) {
      within.add(put(RawJson.of(prefill.spec().rank()), DP_RANK));
    }
    return List.of(new BodyEdit.Put(List.of(KV_TRANSFER_PARAMS), params, within));
  }

  private static List<BodyEdit> written(PdRequest request, Worker prefill, Peer from) {
    Params params =
        new Params()
            .with("do_remote_decode", false)
            .with("do_remote_prefill", true)
            .withNull("remote_engine_id")
            .withNull("remote_block_ids")
            .with(TRANSFER, transfer(request))
            .with(DP_SIZE, from.dpSize())
            .with(TP_SIZE, from.tpSize());
    if (ranked(request, prefill, from)) {
      params.with(DP_RANK, prefill.spec().rank());
    }
    return List.of(put(params.json(), KV_TRANSFER_PARAMS));
  }

  /** Returns true if prefill is known to run on the worker's rank. */
  private static boolean ranked(PdRequest request, Worker prefill, Peer from) {
    return from.dpSize() > 1 && prefill.spec().rank() >= 0 && PdSteps.readsRank(request);
  }

  private static String transfer(PdRequest request) {
    return "tx-" + request.nonce();
  }
}
