package io.pointsman.tool.bench.jmh;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
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
 * Time of one decision with a prefix-aware policy, for a hashed prompt of 4,096 tokens (256 blocks
 * of 16). The index is full of other prompts, and each worker has 1 to 32 requests in flight.
 *
 * <p>Use the median: a noisy machine affects it little. It includes 30 ns for new block hashes and
 * 25 ns for the clock.
 */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class Decide {
  private static final int CONVERSATIONS = 64;

  @Param({"10", "100", "1000", "4000"})
  public int workers;

  /**
   * Share of the prompt that workers have cached. FEW: the next turn of one of 64 conversations;
   * one worker holds 15/16 of it. ALL: every worker holds 15/16 of it. MISS: no worker holds any of
   * it.
   */
  @Param({"FEW", "ALL", "MISS"})
  public Case cached = Case.MISS;

  /** Kinds of prompts. */
  public enum Case {
    FEW,
    ALL,
    MISS
  }

  /** Length of the prompt in blocks of 16 tokens. */
  @Param("256")
  public int blocks;

  @Param({"cache_aware", "cost"})
  public String policy = "cache_aware";

  private @Nullable EngineFixture fixture;

  @Setup
  public void prepare() {
    fixture = new EngineFixture(policy, workers, cached, blocks);
  }

  /** A complete decision: pick, lease, learn, settle. */
  @Benchmark
  @SuppressWarnings("NullAway") // Set by prepare().
  public boolean decideAndSettle() {
    Decision decision = fixture.engine.decide(fixture.nextRequest());
    return decision instanceof Decision.Routed(Lease lease) && lease.succeeded();
  }

  /** The policy's choice alone. */
  @Benchmark
  @SuppressWarnings("NullAway") // Set by prepare().
  public @Nullable Worker pick() {
    return fixture.picker.pick(fixture.nextRequest(), fixture.now++);
  }

  private static final class EngineFixture {
    final RoutingEngine engine;
    final Picker picker;
    final long[][] known;
    final int blocks;
    final long[] hashes;
    final RoutingRequest request;
    final int shared;

    /** Number of the key's blocks that form one block of the policy's index. */
    final int joined;

    long now = System.nanoTime();
    long turn;

    EngineFixture(String policy, int count, Case cached, int blocks) {
      this.blocks = blocks;
      hashes = new long[blocks];
      Fleet fleet = new Fleet(FleetSettings.DEFAULTS, System::nanoTime);
      PolicyParts parts =
          new PolicyParts(
              System::nanoTime,
              ThreadLocalRandom.current()::nextInt,
              FleetSettings.DEFAULTS.maxWorkers(),
              PolicySettings.DEFAULTS);
      PolicySetup setup = Policies.create(policy, parts);
      engine =
          new RoutingEngine(
              fleet,
              setup,
              EngineSettings.DEFAULTS,
              new NoReports(),
              parts.ticker(),
              parts.random());
      List<WorkerSpec> specs = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        specs.add(WorkerSpec.of("http://w" + i + ":8000"));
      }
      List<Worker> workers = fleet.addAll(specs);
      Random random = new Random(1);
      for (Worker worker : workers) {
        worker.probed(true);
        for (int i = random.nextInt(32); i >= 0; i--) {
          worker.tryLease(now, 0, 0, (_, _) -> {});
        }
      }
      Pool pool = fleet.snapshot().pool(Role.REGULAR);
      picker = setup.policy().picker(pool);
      joined = policy.equals("cost") ? 4 : 1;
      shared = cached == Case.MISS ? 0 : blocks - blocks / 16;
      known = new long[cached == Case.ALL ? 1 : CONVERSATIONS][];
      request =
          RoutingRequest.builder()
              .prefix(new PrefixBlocks(hashes, blocks, blocks * 16, 16, blocks * 16))
              .build();
      teach(setup, cached, workers, random);
    }

    private void teach(PolicySetup setup, Case cached, List<Worker> workers, Random random) {
      PrefixIndex index = setup.prefixes();
      while (index != null && index.evictions() == 0) {
        long[] other = random.longs(blocks).toArray();
        PrefixBlocks prompt = new PrefixBlocks(other, blocks, blocks * 16, 16, blocks * 16);
        index.add(prompt.inBlocksOf(joined), index.epoch(workers.getFirst().slot()), 0, now);
      }
      for (int i = 0; i < known.length; i++) {
        known[i] = random.longs(blocks).toArray();
        PrefixBlocks prompt = new PrefixBlocks(known[i], blocks, blocks * 16, 16, blocks * 16);
        List<Worker> holders =
            switch (cached) {
              case FEW -> List.of(workers.get(random.nextInt(workers.size())));
              case ALL -> workers;
              case MISS -> Collections.<Worker>emptyList();
            };
        for (Worker holder : holders) {
          if (index != null) {
            index.add(prompt.inBlocksOf(joined), index.epoch(holder.slot()), 0, now);
          }
        }
      }
    }

    RoutingRequest nextRequest() {
      long[] prompt = known[(int) (turn++ % known.length)];
      long salt = PrefixBlocks.mix(turn);
      System.arraycopy(prompt, 0, hashes, 0, shared);
      for (int i = shared; i < blocks; i++) {
        hashes[i] = prompt[i] ^ salt;
      }
      return request;
    }
  }

  private static final class NoReports implements EngineListener {
    @Override
    public void policyFailed(RuntimeException failure) {
      throw failure;
    }
  }
}
