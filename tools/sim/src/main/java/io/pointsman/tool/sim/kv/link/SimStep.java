package io.pointsman.tool.sim.kv.link;

import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.protocol.KvRequest;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.HandOver;

/** The common error handling of prefill and decode requests. */
abstract sealed class SimStep implements HandOver permits SimDecodeStep, SimPrefillStep {
  final KvNode node;
  final SimExchange exchange;
  final KvRequest request;

  SimStep(KvNode node, SimExchange exchange, KvRequest request) {
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
