package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/** Passes all events on. A subclass that overrides a method also calls that of this class. */
public abstract class ForwardingListener implements ProxyListener {
  private final ProxyListener next;

  protected ForwardingListener(ProxyListener next) {
    this.next = next;
  }

  @Override
  public void started(Endpoint endpoint) {
    next.started(endpoint);
  }

  @Override
  public void chosen(
      RequestReport report, @Nullable AffinityKey session, Worker worker, long nanos) {
    next.chosen(report, session, worker, nanos);
  }

  @Override
  public void prefilled(RequestReport report, long nanos) {
    next.prefilled(report, nanos);
  }

  @Override
  public void sessionEnded(String session) {
    next.sessionEnded(session);
  }

  @Override
  public void retried(Endpoint endpoint, RetryReason reason) {
    next.retried(endpoint, reason);
  }

  @Override
  public void waited(long nanos, boolean admitted) {
    next.waited(nanos, admitted);
  }

  @Override
  public void heldBack(long nanos, boolean decided) {
    next.heldBack(nanos, decided);
  }

  @Override
  public void limited(ClientIdentity client, ClientLimit limit) {
    next.limited(client, limit);
  }

  @Override
  public void awaitsWorker(@Nullable String model, boolean begins) {
    next.awaitsWorker(model, begins);
  }

  @Override
  public void ended(RequestReport report) {
    next.ended(report);
  }

  @Override
  public boolean readsUsage() {
    return next.readsUsage();
  }

  @Override
  public boolean receivesOwnAnswers() {
    return next.receivesOwnAnswers();
  }

  @Override
  public void answered(RequestReport report) {
    next.answered(report);
  }
}
