package io.pointsman.tool.bench.jmh;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvHits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.KvTier;
import io.pointsman.engine.kv.TokenKeys;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
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
 * Time of operations on KV events: the lookup of a hashed prompt of 4,096 token ids, a pick of
 * {@code kv_aware}, and the processing of an event.
 *
 * <p>Each worker holds 400 prompts of its own (40 with more than 100 workers) that share their
 * first 256 tokens. A requested prompt shares 15/16 of its tokens with one of 64 prompts, each
 * cached by one worker.
 */
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@State(Scope.Thread)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class FollowEvents {
  private static final int TOKENS = 4096;
  private static final int SHARED = 256;
  private static final int PROMPTS = 64;
  private static final int BLOCK = 16;

  @Param({"10", "1000"})
  public int workers;

  private @Nullable EventFixture fixture;

  @Setup
  public void prepare() {
    fixture = new EventFixture(workers);
  }

  /** Looks up all holders of a prompt, then the share that one worker holds. */
  @Benchmark
  @SuppressWarnings("NullAway") // Set by prepare().
  public int lookUp() {
    KvHits hits = fixture.index.hits(fixture.next().prefix(), null);
    return hits.device(fixture.slot);
  }

  /** The policy's choice. */
  @Benchmark
  @SuppressWarnings("NullAway") // Set by prepare().
  public @Nullable Worker pick() {
    return fixture.picker.pick(fixture.next(), 0);
  }

  /** Applies a "stored" event of 256 blocks, then the matching "removed" event. */
  @Benchmark
  @SuppressWarnings("NullAway") // Set by prepare().
  public int announce() {
    fixture.index.apply(fixture.first, 0, fixture.coming);
    fixture.index.apply(fixture.first, 0, fixture.going);
    return fixture.slot;
  }

  private static final class EventFixture {
    final KvIndex index;
    final Picker picker;
    final Worker first;
    final int slot;
    final List<KvEvent> coming;
    final List<KvEvent> going;
    private final RoutingRequest[] requests = new RoutingRequest[PROMPTS];
    private int turn;

    EventFixture(int count) {
      Fleet fleet = new Fleet(FleetSettings.DEFAULTS, System::nanoTime);
      int most = FleetSettings.DEFAULTS.maxWorkers();
      index = new KvIndex(2L << 30, most, System::nanoTime);
      List<WorkerSpec> specs = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        specs.add(WorkerSpec.of("http://w" + i + ":8000"));
      }
      List<Worker> workers = fleet.addAll(specs);
      workers.forEach(worker -> worker.probed(true));
      first = workers.getFirst();
      slot = first.slot();
      SplittableRandom random = new SplittableRandom(1);
      int[] shared = ids(random, SHARED);
      int each = count > 100 ? 40 : 400;
      for (Worker worker : workers) {
        index.live(worker, 0, true);
        for (int i = 0; i < each; i++) {
          announce(worker, prompt(shared, random, TOKENS / 4), random);
        }
      }
      for (int i = 0; i < PROMPTS; i++) {
        int[] cached = prompt(shared, random, TOKENS);
        announce(workers.get(random.nextInt(count)), cached, random);
        int[] asked = Arrays.copyOf(cached, TOKENS);
        for (int at = TOKENS - TOKENS / BLOCK; at < TOKENS; at++) {
          asked[at] = random.nextInt(150_000);
        }
        PrefixBlocks key = TokenIds.key(1, asked, TOKENS, TOKENS);
        requests[i] = RoutingRequest.builder().prefix(key).build();
      }
      int[] passing = prompt(shared, random, TOKENS);
      coming = List.of(stored(passing, random));
      KvEvent.Stored stored = (KvEvent.Stored) coming.getFirst();
      going = List.of(new KvEvent.Removed(stored.blocks(), KvTier.DEVICE));
      PolicyParts parts =
          new PolicyParts(
              System::nanoTime,
              ThreadLocalRandom.current()::nextInt,
              most,
              PolicySettings.DEFAULTS,
              new KvKnowledge(index, TokenKeys.NONE));
      Pool pool = fleet.snapshot().pool(Role.REGULAR);
      picker = Policies.create("kv_aware", parts).policy().picker(pool);
    }

    RoutingRequest next() {
      return requests[turn++ & (PROMPTS - 1)];
    }

    private void announce(Worker worker, int[] prompt, SplittableRandom random) {
      index.apply(worker, 0, List.of(stored(prompt, random)));
    }

    private static KvEvent stored(int[] prompt, SplittableRandom random) {
      long[] ids = random.longs(prompt.length / BLOCK).toArray();
      return new KvEvent.Stored(ids, null, prompt, BLOCK, KvTier.DEVICE, null, true);
    }

    private static int[] prompt(int[] shared, SplittableRandom random, int length) {
      int[] ids = ids(random, length);
      System.arraycopy(shared, 0, ids, 0, shared.length);
      return ids;
    }

    private static int[] ids(SplittableRandom random, int length) {
      return random.ints(length, 0, 150_000).toArray();
    }
  }
}
