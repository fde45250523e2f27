package io.pointsman.pd.protocol;

import static io.pointsman.request.splice.BodyEdit.put;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.plan.Continuation;
import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.Terms;
import io.pointsman.pd.plan.Terms.Bond;
import io.pointsman.pd.plan.Terms.Release;
import io.pointsman.proxy.wire.Header;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.RawJson;
import java.util.ArrayList;
import java.util.List;

/** Functions common to most protocols. */
final class PdSteps {
  private PdSteps() {}

  /** Builds a request with the client's id. */
  static PdStep step(PdRequest request, Worker worker, List<BodyEdit> edits) {
    return step(request, worker, request.id(), edits);
  }

  /** Builds a request with an id that the engines interpret. */
  static PdStep step(PdRequest request, Worker worker, String id, List<BodyEdit> edits) {
    return step(request, worker, List.of(new Header(Header.REQUEST_ID, id)), edits);
  }

  /** Builds a request with headers that the engines interpret. */
  static PdStep step(PdRequest request, Worker worker, List<Header> headers, List<BodyEdit> edits) {
    return new PdStep(worker, request.path(), headers, ForeignFields.removedBefore(edits));
  }

  /**
   * Returns the edits for a request that engines find by its id. They read the id from the header.
   * vLLM's {@code /v1/responses} reads it only from the body.
   *
   * @param id must end in 32 hexadecimal digits
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
   * Returns the engine's name for such a request. For a response it is the id that clients read it
   * by, which begins with {@code resp_}. The engine appends {@code _0}, and MoRI-IO parses an
   * address only if a hyphen follows the digits.
   */
  static String name(PdRequest request, String id) {
    return request.endpoint() == PdEndpoint.RESPONSES ? "resp_" + id + "-0" : id;
  }

  /**
   * Returns true if engines run the request on the rank that its header names. vLLM's {@code
   * /v1/responses} ignores the header, so the rank is unknown there.
   */
  static boolean readsRank(PdRequest request) {
    return request.endpoint() != PdEndpoint.RESPONSES;
  }

  static Continuation decode(PdStep step) {
    return new Continuation.Decode(step, null);
  }

  /** No engine holds resources for the request, and any decode worker can continue at any time. */
  static Terms free(ProtocolSettings settings) {
    return new Terms(Bond.ANY_DECODE, settings.lease(), Release.NOTHING, List.of());
  }

  /** The prefill worker holds the blocks until the decode request has fetched them. */
  static Terms reserved(PdRequest request, Bond bond, ProtocolSettings settings) {
    List<BodyEdit> releasing = PrefillBody.edits(request.endpoint(), settings.minTokens());
    return new Terms(bond, settings.lease(), Release.SEND_DECODE, releasing);
  }

  /** The decode engine has the blocks, for one request with their id. */
  static Terms pushed(PdRequest request, ProtocolSettings settings) {
    List<BodyEdit> releasing = PrefillBody.edits(request.endpoint(), settings.minTokens());
    return new Terms(Bond.THIS_DECODE, settings.lease(), Release.SEND_ONCE, releasing);
  }

  /**
   * Both requests are sent at once, and prefill does not wait for decode. The blocks stay reserved
   * until decode has fetched them, as in sequential order.
   */
  static Terms together(PdRequest request, Bond bond, ProtocolSettings settings) {
    List<BodyEdit> releasing = PrefillBody.edits(request.endpoint(), settings.minTokens());
    return new Terms(bond, settings.lease(), Release.CANCEL_OR_SEND, releasing);
  }
}
