package io.pointsman.proxy.exchange;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/** The view of an exchange and its attempts that a request handler uses. */
record ClientExchangeView(Exchange exchange, Attempts attempts, RequestFacts facts)
    implements ClientExchange {
  @Override
  public RequestHead head() {
    return exchange.head();
  }

  @Override
  public String requestId() {
    return exchange.report().requestId();
  }

  @Override
  public @Nullable KeptBody body() {
    return exchange.body().whole();
  }

  @Override
  public @Nullable SideTrace sideTrace(Worker worker, SideTrace.Purpose purpose) {
    return exchange.report().side(worker, purpose, exchange.state().now());
  }

  @Override
  public void prefilled(long nanos) {
    exchange.report().prefilled(nanos);
  }

  @Override
  public void attempt(Lease lease, UpstreamRequest request) {
    attempts.begin(lease, request);
  }

  @Override
  public RequestFaults faults() {
    return exchange.faults();
  }

  @Override
  public boolean withdraw() {
    return attempts.withdraw();
  }

  @Override
  public void retried(RetryReason reason) {
    exchange.state().plane().listener().retried(facts.endpoint(), reason);
  }

  @Override
  public void refuse(Decision.Rejected rejected) {
    attempts.noWorker(rejected);
  }

  @Override
  public void reply(ProxyError error, Reply reply) {
    exchange.reply(error, reply);
  }

  @Override
  public void answer(Reply reply) {
    exchange.reply(Blame.NONE, reply);
  }

  @Override
  public void pass(BufferedResponse held, long restSeconds) {
    exchange.pass(held, restSeconds);
  }

  @Override
  public void giveUp() {
    attempts.giveUp();
  }

  @Override
  public void defect(Throwable defect) {
    exchange.failed(defect);
  }
}
