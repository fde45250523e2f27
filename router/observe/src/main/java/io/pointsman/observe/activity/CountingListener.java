package io.pointsman.observe.activity;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/** Counts the ends of requests. All events also go to {@code next}. */
record CountingListener(FleetActivity activity, ProxyListener next) implements ProxyListener {
  @Override
  public void ended(RequestReport report) {
    activity.ended(report);
    next.ended(report);
  }

  @Override
  public void sessionEnded(String session) {
    next.sessionEnded(session);
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
  public void awaitsWorker(@Nullable String model, boolean begins) {
    next.awaitsWorker(model, begins);
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
