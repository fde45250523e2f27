package io.pointsman.pd.rule;

import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.SplitFacts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A test fleet of prefill workers {@code p0}, ... and decode workers {@code d0}, ... */
final class PdTestFleet implements EngineListener {
  private static final int MAX_WORKERS = 64;

  final TestFleet workers = new TestFleet();
  final RoutingEngine engine;
  final SplitRouter router;
  final List<RejectReason> rejected = new ArrayList<>();

  /** Runs each time the engine or the router reads the time. */
  Runnable clock = () -> {};

  /** Runs after each new snapshot of the fleet, before the engine uses it. */
  Runnable beforeEngine = () -> {};

  int routed;
  int settled;

  /** A fleet that chooses decode workers by load only. */
  PdTestFleet(SplitSettings settings, int prefill, int decode) {
    this(settings, prefill, decode, "least_load");
  }

  PdTestFleet(SplitSettings settings, int prefill, int decode, String decodePolicy) {
    for (int i = 0; i < prefill; i++) {
      add("p" + i, Role.PREFILL, 0);
    }
    for (int i = 0; i < decode; i++) {
      add("d" + i, Role.DECODE, 0);
    }
    DecodeCaches caches = new DecodeCaches(1 << 20, MAX_WORKERS);
    PolicySetup decodes =
        decodePolicy.equals(JointPolicy.NAME)
            ? new PolicySetup(
                new JointPolicy(caches, settings.maxLoadGap(), workers.random), List.of())
            : policy(decodePolicy);
    StagePolicies policies =
        new StagePolicies(policy("least_load"), policy("cache_aware"), decodes.with(caches));
    workers.fleet.listen(_ -> beforeEngine.run());
    engine =
        new RoutingEngine(
            workers.fleet, policies, EngineSettings.DEFAULTS, this, this::now, workers.random);
    router = new SplitRouter(engine, caches, settings, this::now);
  }

  private long now() {
    clock.run();
    return workers.now();
  }

  private PolicySetup policy(String name) {
    return Policies.create(
        name, new PolicyParts(workers::now, workers.random, MAX_WORKERS, PolicySettings.DEFAULTS));
  }

  Worker add(String id, Role role, int maxInFlight) {
    return workers.add(
        new WorkerSpec(
            id,
            "http://" + id,
            role,
            Set.of(TestFleet.MODEL),
            WorkerSpec.NO_RANK,
            maxInFlight,
            Map.of()));
  }

  Worker worker(String id) {
    Worker worker = workers.fleet.snapshot().worker(id);
    if (worker == null) {
      throw new AssertionError(id);
    }
    return worker;
  }

  void kill(String id) {
    workers.kill(worker(id));
  }

  /** A request that can be split, with a prompt of {@code blocks} blocks of 16 tokens. */
  static SplitRequest request(int blocks) {
    return request(blocks, facts(1, 16L * blocks));
  }

  static SplitRequest request(int blocks, SplitFacts facts) {
    long[] pieces = new long[blocks];
    for (int i = 0; i < blocks; i++) {
      pieces[i] = 1000L + i;
    }
    PrefixBlocks prefix = PrefixBlocks.chain(1, pieces, blocks, 16 * blocks, 16, 16 * blocks);
    return new SplitRequest(TestFleet.MODEL, prefix, null, facts);
  }

  static SplitFacts facts(long choices, long tokens) {
    return new SplitFacts(
        PdEndpoint.COMPLETIONS,
        true,
        choices,
        SplitFacts.ABSENT,
        false,
        false,
        false,
        1,
        false,
        false,
        false,
        false,
        SplitFacts.ABSENT,
        true,
        tokens,
        false);
  }

  Placement placed(SplitDecision decision) {
    return switch (decision) {
      case SplitDecision.Placed(Placement placement) -> placement;
      case SplitDecision.Refused refused -> throw new AssertionError(refused);
    };
  }

  Placement.Split split(SplitRequest request) {
    return switch (placed(router.decide(request))) {
      case Placement.Split split -> split;
      case Placement.Single single -> throw new AssertionError(single);
    };
  }

  Placement.Single single(SplitDecision decision) {
    return switch (placed(decision)) {
      case Placement.Single single -> single;
      case Placement.Split split -> throw new AssertionError(split);
    };
  }

  int inFlight() {
    return workers.fleet.snapshot().workers().stream().mapToInt(Worker::inFlight).sum();
  }

  @Override
  public void routed(RoutingRequest request, LeaseView lease) {
    routed++;
  }

  @Override
  public void rejected(RoutingRequest request, RejectReason reason) {
    rejected.add(reason);
  }

  @Override
  public void settled(LeaseView lease, Outcome outcome) {
    settled++;
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    throw failure;
  }
}
