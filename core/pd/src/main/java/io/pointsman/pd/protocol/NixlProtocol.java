package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PrefillBody.KV_TRANSFER_PARAMS;
import static io.pointsman.request.splice.BodyEdit.put;
import static io.pointsman.request.splice.BodyEdit.remove;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Address;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.plan.Terms.Bond;
import io.pointsman.pd.protocol.NixlMemory.PushIdentity;
import io.pointsman.pd.protocol.TurnTable.Turn;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.RawJson;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The protocol {@code nixl}: vLLM's NixlConnector, in two variants:
 *
 * <ul>
 *   <li>Pull: prefill keeps its blocks and describes them in {@code kv_transfer_params}. Decode
 *       receives these unchanged and fetches the blocks.
 *   <li>Push: prefill writes into decode's blocks if it reports so. Both requests are then sent at
 *       once.
 * </ul>
 *
 * <p>If decode describes its own blocks at the end of a turn, the next turn's prefill receives that
 * description.
 */
final class NixlProtocol implements PdProtocol {
  /** The parameters for prefill without an earlier turn. */
  private static final RawJson KEEP_BLOCKS =
      new Params()
          .with("do_remote_decode", true)
          .with("do_remote_prefill", false)
          .withNull("remote_engine_id")
          .withNull("remote_block_ids")
          .withNull("remote_host")
          .withNull("remote_port")
          .json();

  private static final Pattern LOOPBACK =
      Pattern.compile("\"(localhost|127(\\.\\d{1,3}){3}|\\[?::1]?|0\\.0\\.0\\.0|)\"");

  private final NixlMemory memory;
  private final ProtocolSettings settings;

  NixlProtocol(NixlMemory memory, ProtocolSettings settings) {
    this.memory = memory;
    this.settings = settings;
  }

  @Override
  public PdPlan plan(PdRequest request, Worker prefill, Worker decode) {
    PushIdentity pusher = memory.pusher(prefill);
    Turn turn = pusher == null ? memory.takeTurn(request.conversation()) : null;
    String id = pusher == null ? request.id() : request.nonce();
    PdStep prefillStep =
        step(
            request,
            prefill,
            id,
            PrefillBody.edits(
                request.endpoint(),
                settings.minTokens(),
                turn == null ? put(KEEP_BLOCKS, KV_TRANSFER_PARAMS) : described(turn)));
    if (pusher != null) {
      BodyEdit params =
          new BodyEdit.Put(
              List.of(KV_TRANSFER_PARAMS),
              pushed(PdSteps.name(request, id), pusher),
              reachable(prefill, pusher.host()));
      PdStep decodeStep = step(request, decode, id, List.of(params));
      PdPlan.Promise promise =
          new PdPlan.Promise(
              NixlMemory::pushes,
              (worker, reply) ->
                  PdSteps.decode(step(request, worker, id, carried(prefill, reply))));
      return new PdPlan.Concurrent(
          prefillStep, decodeStep, PdSteps.together(request, Bond.ANY_DECODE, settings), promise);
    }
    return new PdPlan.Sequential(
        prefillStep,
        null,
        (worker, reply) -> PdSteps.decode(step(request, worker, id, carried(prefill, reply))),
        PdSteps.reserved(request, Bond.ANY_DECODE, settings));
  }

  /**
   * Builds a request with the same engine-side name for prefill and decode. Pushing engines look
   * for that name, independent of the block data. It uses the nonce, because a client's id could
   * match several responses.
   */
  private static PdStep step(PdRequest request, Worker worker, String id, List<BodyEdit> edits) {
    return PdSteps.step(request, worker, id, PdSteps.named(request, request.nonce(), edits));
  }

  private BodyEdit described(Turn turn) {
    return new BodyEdit.Put(
        List.of(KV_TRANSFER_PARAMS), turn.params(), reachable(turn.decode(), turn.host()));
  }

  /** Without a handover, the client's own parameters must be removed. */
  private List<BodyEdit> carried(Worker prefill, PrefillReply reply) {
    RawJson params = reply.kvTransferParams();
    if (params == null) {
      return List.of(remove(KV_TRANSFER_PARAMS));
    }
    List<BodyEdit> within = reachable(prefill, reply.param("remote_host"));
    return List.of(new BodyEdit.Put(List.of(KV_TRANSFER_PARAMS), params, within));
  }

  /**
   * @param holder the worker that holds the blocks
   * @param reported the address that it reports
   */
  private List<BodyEdit> reachable(Worker holder, @Nullable RawJson reported) {
    boolean replaced =
        switch (settings.remoteHost()) {
          case KEEP -> false;
          case REPLACE_IF_LOOPBACK -> loopback(reported);
          case REPLACE -> true;
        };
    return replaced ? List.of(put(RawJson.string(Address.host(holder)), "remote_host")) : List.of();
  }

  private static boolean loopback(@Nullable RawJson host) {
    return host != null && LOOPBACK.matcher(host.toString()).matches();
  }

  /**
   * @param id the name of the prefill request, by which decode finds it. It must be unique among
   *     handovers; a client's id or a retried request's id may not be.
   */
  private static RawJson pushed(String id, PushIdentity pusher) {
    return new Params()
        .with("do_remote_prefill", true)
        .with("do_remote_decode", false)
        .with("remote_engine_id", pusher.engineId())
        .with("remote_host", pusher.host())
        .with("remote_port", pusher.port())
        .withIfKnown("tp_size", pusher.tpSize())
        .with("remote_request_id", id)
        .json();
  }
}
