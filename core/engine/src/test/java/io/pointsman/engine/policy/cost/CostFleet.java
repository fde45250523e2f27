package io.pointsman.engine.policy.cost;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.time.Duration;

/** A fleet under {@code cost}, with its reports. */
public final class CostFleet implements EngineListener {
  public final TestFleet fleet;
  public final RoutingEngine engine;
  public final Insight insight;
  public final CacheMissAttribution lost;

  /** True if every decision is explained. */
  public boolean explains;

  public CostFleet(int workers, CostSettings settings) {
    fleet = TestFleet.of(workers);
    PolicyParts parts =
        new PolicyParts(
            fleet.clock::nanos, fleet.random, 16_384, PolicySettings.DEFAULTS.withCost(settings));
    PolicySetup setup = Policies.create("cost", parts);
    engine =
        new RoutingEngine(
            fleet.fleet, setup, EngineSettings.DEFAULTS, this, fleet.clock::nanos, fleet.random);
    insight = requireNonNull(setup.insight(), "insight");
    lost = insight.cacheMisses();
  }

  public static RoutingRequest request(PrefixBlocks prompt) {
    return RoutingRequest.builder().model(TestFleet.MODEL).prefix(prompt).build();
  }

  public Lease place(RoutingRequest request) {
    Decision decision = engine.decide(request);
    if (decision instanceof Decision.Routed(Lease lease)) {
      return lease;
    }
    throw new AssertionError(decision);
  }

  public Lease place(PrefixBlocks prompt) {
    return place(request(prompt));
  }

  /** Answers after 50 ms; the engine found {@code cached} tokens. */
  public void serve(Lease lease, int prompt, int cached) {
    fleet.clock.advance(Duration.ofMillis(50));
    lease.progressed();
    lease.firstToken();
    lease.reported(new Usage(prompt, cached, 10));
    lease.succeeded();
  }

  /** Serves a prompt of blocks of 16 tokens; the engine found {@code cached} tokens. */
  public Lease served(PrefixBlocks prompt, int cached) {
    Lease lease = place(prompt);
    serve(lease, prompt.count() * 16, cached);
    return lease;
  }

  public int inFlight() {
    return fleet.pool().workers().stream().mapToInt(Worker::inFlight).sum();
  }

  /** Tokens lost for all reasons. */
  public long lostTokens() {
    long all = 0;
    for (CacheMiss reason : CacheMiss.values()) {
      all += lost.tokens(reason);
    }
    return all;
  }

  @Override
  public boolean explains(RoutingRequest request) {
    return explains;
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    throw new AssertionError("policy failed", failure);
  }
}
