package io.pointsman.engine.policy.cache;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A fleet under {@code cache_aware}, with its own clock and random source. */
final class CacheAwareFixture {
  final FakeClock clock = new FakeClock();
  final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  final List<Worker> workers = new ArrayList<>();
  final PrefixIndex index;
  private final RoutingEngine engine;

  CacheAwareFixture(int count) {
    this(count, CacheAwareSettings.DEFAULTS, 7);
  }

  CacheAwareFixture(int count, CacheAwareSettings settings, long seed) {
    ScriptedRandomSource random = ScriptedRandomSource.seeded(seed);
    PolicySettings defaults = PolicySettings.DEFAULTS;
    PolicySettings all =
        new PolicySettings(
            defaults.virtualNodes(),
            defaults.hashLoadFactor(),
            settings,
            defaults.sessionTtl(),
            defaults.maxSessions());
    PolicyParts parts =
        new PolicyParts(clock::nanos, random::roll, FleetSettings.DEFAULTS.maxWorkers(), all);
    PolicySetup setup = Policies.create("cache_aware", parts);
    index = requireNonNull(setup.prefixes());
    engine =
        new RoutingEngine(
            fleet, setup, EngineSettings.DEFAULTS, new Strict(), clock::nanos, random::roll);
    for (int i = 0; i < count; i++) {
      join("http://w" + i + ":8000");
    }
  }

  static CacheAwareSettings settings(double cache, int abs, double rel) {
    return new CacheAwareSettings(cache, abs, rel, 1 << 20);
  }

  Worker join(String url) {
    Worker worker = fleet.add(WorkerSpec.of(url));
    worker.probed(true);
    workers.add(worker);
    return worker;
  }

  static RoutingRequest request(PrefixBlocks prompt) {
    return RoutingRequest.builder().prefix(prompt).build();
  }

  Lease place(PrefixBlocks prompt) {
    return place(request(prompt));
  }

  Lease place(RoutingRequest request) {
    clock.advance(Duration.ofNanos(1000));
    Decision decision = engine.decide(request);
    assertThat(decision).isInstanceOf(Decision.Routed.class);
    return ((Decision.Routed) decision).lease();
  }

  /** Places a prompt and ends it, so its worker holds it and is idle. */
  Worker teach(PrefixBlocks prompt) {
    Lease lease = place(prompt);
    lease.succeeded();
    return lease.worker();
  }

  /** Lets a worker learn a prompt while all others are busier. */
  void teach(Worker target, PrefixBlocks prompt) {
    List<Lease> busy = new ArrayList<>();
    for (Worker worker : workers) {
      if (worker != target) {
        busy.addAll(load(worker, 200));
      }
    }
    Lease lease = place(prompt);
    assertThat(lease.worker()).isSameAs(target);
    lease.succeeded();
    busy.forEach(Lease::succeeded);
  }

  /** Requests in flight that the policy does not know. */
  List<Lease> load(Worker worker, int count) {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      leases.add(worker.tryLease(clock.nanos(), 0, 0, (_, _) -> {}));
    }
    return leases;
  }

  private static final class Strict implements EngineListener {
    @Override
    public void policyFailed(RuntimeException failure) {
      throw new AssertionError(failure);
    }
  }
}
