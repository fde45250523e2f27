package io.pointsman.tool.sim.kv.link;

import io.pointsman.tool.sim.http.Exchange;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.protocol.KvRequest;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.HandOver;

/** The common error handling of prefill and decode requests. */
abstract sealed class Leg implements HandOver permits DecodeLeg, PrefillLeg {
  final KvNode node;
  final Exchange exchange;
  final KvRequest request;

  Leg(KvNode node, Exchange exchange, KvRequest request) {
    this.node = node;
    this.exchange = exchange;
    this.request = request;
  }

  @Override
  public Generation request() {
    return request.generation();
  }

  /**
   * Handles a failed handover: responds with an error, or computes the prompt here if the engine is
   * lenient.
   */
  final void failed(FieldError error, Runnable start) {
    node.counters().wrong(error);
    if (node.options().lenient()) {
      node.counters().recomputed();
      start.run();
      return;
    }
    RequestError answer = error.toRequestError();
    exchange.fail(answer.status(), answer.type(), answer.text(), answer.param());
  }
}
