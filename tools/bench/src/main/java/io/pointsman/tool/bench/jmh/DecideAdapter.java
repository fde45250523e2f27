package io.pointsman.tool.bench.jmh;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.tier.AdapterSettings;
import io.pointsman.engine.policy.tier.AdapterTable;
import io.pointsman.engine.policy.tier.LocalitySettings;
import io.pointsman.engine.policy.tier.Tiers;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Time of one decision for a random adapter, with 100 workers that keep 16 adapters each. With
 * 1,000 adapters all stay loaded. With 20,000, most decisions load one adapter and evict another.
 */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class DecideAdapter {
  private static final int WORKERS = 100;

  @Param({"100", "1000", "20000"})
  public int adapters;

  @Param({"least_load", "consistent_hash"})
  public String policy = "least_load";

  private final Random random = new Random(1);
  private String[] names = {};
  private @Nullable RoutingEngine engine;

  @Setup
  public void prepare() {
    Fleet fleet = new Fleet(FleetSettings.DEFAULTS, System::nanoTime);
    AdapterTable table = new AdapterTable(AdapterSettings.DEFAULTS);
    fleet.listen(table);
    PolicyParts parts =
        new PolicyParts(
            System::nanoTime,
            ThreadLocalRandom.current()::nextInt,
            FleetSettings.DEFAULTS.maxWorkers(),
            PolicySettings.DEFAULTS);
    Tiers tiers = new Tiers(LocalitySettings.OFF, AdapterSettings.DEFAULTS, table, parts.random());
    engine =
        new RoutingEngine(
            fleet,
            tiers.around(Policies.create(policy, parts)),
            new EngineSettings(UnknownModel.BASE_MODEL),
            new NoAdapterReports(),
            parts.ticker(),
            parts.random());
    for (int i = 0; i < WORKERS; i++) {
      fleet.add(WorkerSpec.of("http://w" + i + ":8000").withModels(Set.of("base"))).probed(true);
    }
    names = new String[adapters];
    for (int i = 0; i < adapters; i++) {
      names[i] = "base:a" + i;
    }
  }

  /** A complete decision: pick, lease, learn, settle. */
  @Benchmark
  @SuppressWarnings("NullAway") // Set by prepare().
  public boolean decideAndSettle() {
    RoutingRequest request =
        RoutingRequest.builder().model(names[random.nextInt(names.length)]).build();
    return engine.decide(request) instanceof Decision.Routed(Lease lease) && lease.succeeded();
  }

  private static final class NoAdapterReports implements EngineListener {
    @Override
    public void policyFailed(RuntimeException failure) {
      throw failure;
    }
  }
}
