package io.pointsman.engine.choice;

import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.Requests;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Choices over a fleet of test workers, with a record of the engine's events. */
final class ChoiceFleet implements EngineListener {
  static final Duration TTL = Duration.ofSeconds(30);

  final TestFleet workers;
  final RoutingEngine engine;
  final Choices choices;
  final Alternatives alternatives;
  final List<Outcome> settled = new ArrayList<>();
  final List<Usage> usages = new ArrayList<>();
  int routed;

  /** Thrown at each end, against the contract; null for none. */
  @Nullable Error defect;

  ChoiceFleet(String policy, int size, ExternalLeaseSettings settings) {
    workers = TestFleet.of(size);
    PolicyParts parts =
        new PolicyParts(
            workers::now,
            workers.random,
            FleetSettings.DEFAULTS.maxWorkers(),
            PolicySettings.DEFAULTS);
    engine =
        new RoutingEngine(
            workers.fleet,
            Policies.create(policy, parts),
            EngineSettings.DEFAULTS,
            this,
            workers::now,
            workers.random);
    choices = new Choices(engine, settings, workers::now, workers.random);
    alternatives = new Alternatives(engine, workers::now, workers.random);
  }

  static ChoiceFleet of(String policy, int size) {
    return new ChoiceFleet(policy, size, ExternalLeaseSettings.DEFAULTS);
  }

  /** Makes a choice that must be held. */
  Choice.Leased held(RoutingRequest request, Duration ttl) {
    if (choices.choose(request, ttl) instanceof Choice.Leased held) {
      return held;
    }
    throw new AssertionError("not held");
  }

  Choice.Leased held() {
    return held(Requests.bare(), TTL);
  }

  void pass(Duration time) {
    workers.clock.advance(time);
  }

  int inFlight() {
    return workers.fleet.snapshot().workers().stream().mapToInt(Worker::inFlight).sum();
  }

  @Override
  public synchronized void routed(RoutingRequest request, LeaseView lease) {
    routed++;
  }

  @Override
  public synchronized void settled(LeaseView lease, Outcome outcome) {
    settled.add(outcome);
    usages.add(lease.usage());
    if (defect != null) {
      throw defect;
    }
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    throw failure;
  }
}
