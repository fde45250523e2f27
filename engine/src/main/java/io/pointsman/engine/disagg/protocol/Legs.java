package io.pointsman.engine.disagg.protocol;

import static io.pointsman.engine.disagg.plan.BodyEdit.put;

import io.pointsman.engine.disagg.plan.BodyEdit;
import io.pointsman.engine.disagg.plan.Continuation;
import io.pointsman.engine.disagg.plan.Header;
import io.pointsman.engine.disagg.plan.Leg;
import io.pointsman.engine.disagg.plan.PdEndpoint;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.RawJson;
import io.pointsman.engine.disagg.plan.Terms;
import io.pointsman.engine.disagg.plan.Terms.Bond;
import io.pointsman.engine.disagg.plan.Terms.Release;
import io.pointsman.engine.fleet.Worker;
import java.util.ArrayList;
import java.util.List;

/** What most protocols have in common. */
final class Legs {
  private Legs() {}

  /** A request with the client's own id. */
  static Leg leg(PdRequest request, Worker worker, List<BodyEdit> edits) {
    return leg(request, worker, request.id(), edits);
  }

  /** A request with an id that means something to the engines. */
  static Leg leg(PdRequest request, Worker worker, String id, List<BodyEdit> edits) {
    return leg(request, worker, List.of(new Header(Header.REQUEST_ID, id)), edits);
  }

  /** A request with headers that mean something to the engines. */
  static Leg leg(PdRequest request, Worker worker, List<Header> headers, List<BodyEdit> edits) {
    return new Leg(worker, request.path(), headers, ForeignFields.removedBefore(edits));
  }

  /**
   * The edits of a request that engines look up by its id. They have it from the header; vLLM's
   * {@code /v1/responses} has it from the body alone.
   *
   * @param id that ends in 32 hexadecimal digits
   */
  static List<BodyEdit> named(PdRequest request, String id, List<BodyEdit> edits) {
    if (request.endpoint() != PdEndpoint.RESPONSES) {
      return edits;
    }
    List<BodyEdit> all = new ArrayList<>(edits);
    all.add(put(RawJson.string(name(request, id)), ForeignFields.REQUEST_ID));
    return all;
  }

  /**
   * What an engine calls such a request. Of a response it is the id that clients read it by, which
   * begins so; the engine puts {@code _0} behind it, and MoRI-IO finds an address only if what
   * follows the digits begins with a hyphen.
   */
  static String name(PdRequest request, String id) {
    return request.endpoint() == PdEndpoint.RESPONSES ? "resp_" + id + "-0" : id;
  }

  static Continuation decode(Leg leg) {
    return new Continuation.Decode(leg, null);
  }

  /** Nothing is held for the request, and any decode worker can go on at any time. */
  static Terms free(ProtocolSettings settings) {
    return new Terms(Bond.ANY_DECODE, settings.lease(), Release.NOTHING, List.of());
  }

  /** Blocks are held until the decode request has fetched them. */
  static Terms held(PdRequest request, Bond bond, ProtocolSettings settings) {
    List<BodyEdit> releasing = PrefillBody.edits(request.endpoint(), settings.minTokens());
    return new Terms(bond, settings.lease(), Release.SEND_DECODE, releasing);
  }

  /** Decode's engine has the blocks, for one request with their id. */
  static Terms pushed(PdRequest request, ProtocolSettings settings) {
    List<BodyEdit> releasing = PrefillBody.edits(request.endpoint(), settings.minTokens());
    return new Terms(Bond.THIS_DECODE, settings.lease(), Release.SEND_ONCE, releasing);
  }

  /**
   * Both requests are sent at once, and prefill does not wait for decode: blocks are held until
   * decode has them, as if it had been asked after prefill.
   */
  static Terms together(PdRequest request, Bond bond, ProtocolSettings settings) {
    List<BodyEdit> releasing = PrefillBody.edits(request.endpoint(), settings.minTokens());
    return new Terms(bond, settings.lease(), Release.CANCEL_OR_SEND, releasing);
  }
}
