package io.pointsman.pd.protocol;

import static io.pointsman.request.splice.BodyEdit.put;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Address;
import io.pointsman.pd.peer.Peers;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.Terms;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.RawJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The protocol {@code sglang}: both workers receive the same request at once. They meet in a room
 * of the prefill worker's bootstrap server. A prefill worker always generates one token.
 */
final class SglangProtocol implements PdProtocol {
  /** The engines' wait for each other (SGLANG_DISAGGREGATION_WAITING_TIMEOUT). */
  private static final Duration WAIT = Duration.ofMinutes(5);

  private final Peers peers;

  SglangProtocol(Peers peers) {
    this.peers = peers;
  }

  @Override
  public PdPlan plan(PdRequest request, Worker prefill, Worker decode) {
    int port = peers.of(prefill).bootstrapPort();
    List<BodyEdit> edits =
        List.of(
            put(RawJson.string(Address.host(prefill)), "bootstrap_host"),
            put(port == 0 ? RawJson.NULL : RawJson.of(port), "bootstrap_port"),
            put(RawJson.of(room(request)), "bootstrap_room"));
    List<BodyEdit> toPrefill = new ArrayList<>(edits);
    toPrefill.addAll(rank(prefill, ForeignFields.RANK));
    toPrefill.addAll(PrefillBody.notStored(request.endpoint()));
    List<BodyEdit> toDecode = new ArrayList<>(edits);
    toDecode.addAll(rank(decode, ForeignFields.RANK));
    toDecode.addAll(rank(prefill, ForeignFields.PREFILL_RANK));
    return new PdPlan.Concurrent(
        PdSteps.step(request, prefill, toPrefill),
        PdSteps.step(request, decode, toDecode),
        new Terms(Terms.Bond.THIS_DECODE, WAIT, Terms.Release.CANCEL_BOTH, List.of()),
        null);
  }

  /**
   * Sets the worker's rank in the body, because not all routes read it from a header. Without
   * prefill's rank, a decode engine derives one from the room.
   */
  private static List<BodyEdit> rank(Worker worker, String name) {
    int rank = worker.spec().rank();
    return rank < 0 ? List.of() : List.of(put(RawJson.of(rank), name));
  }

  /** Returns 63 bits of the nonce, because engines read rooms as signed numbers. */
  private static long room(PdRequest request) {
    return Long.parseUnsignedLong(request.nonce(), 0, 16, 16) >>> 1;
  }
}
