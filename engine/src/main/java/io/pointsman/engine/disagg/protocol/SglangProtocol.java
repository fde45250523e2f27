package io.pointsman.engine.disagg.protocol;

import static io.pointsman.engine.disagg.plan.BodyEdit.put;

import io.pointsman.engine.disagg.peer.Address;
import io.pointsman.engine.disagg.peer.Peers;
import io.pointsman.engine.disagg.plan.BodyEdit;
import io.pointsman.engine.disagg.plan.PdPlan;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.RawJson;
import io.pointsman.engine.disagg.plan.Terms;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code sglang}: both workers get the same request at once and meet in a room of the prefill
 * worker's bootstrap server. A prefill worker generates one token whatever the request asks for.
 */
final class SglangProtocol implements PdProtocol {
  /** How long the engines wait for each other (SGLANG_DISAGGREGATION_WAITING_TIMEOUT). */
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
        Legs.leg(request, prefill, toPrefill),
        Legs.leg(request, decode, toDecode),
        new Terms(Terms.Bond.THIS_DECODE, WAIT, Terms.Release.CANCEL_BOTH, List.of()),
        null);
  }

  /**
   * The rank that a worker is, in the body: not all routes read it from a header. A decode engine
   * that is not told prefill's looks for it on the one that follows from the room.
   */
  private static List<BodyEdit> rank(Worker worker, String name) {
    int rank = worker.spec().rank();
    return rank < 0 ? List.of() : List.of(put(RawJson.of(rank), name));
  }

  /** 63 bits of the nonce: engines read rooms as signed numbers. */
  private static long room(PdRequest request) {
    return Long.parseUnsignedLong(request.nonce(), 0, 16, 16) >>> 1;
  }
}
