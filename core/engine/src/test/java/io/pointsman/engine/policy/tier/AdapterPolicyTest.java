package io.pointsman.engine.policy.tier;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RecordedEvents;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class AdapterPolicyTest {
  private static final String BASE = "base";
  private static final int MANY = 40;

  private final TestFleet fleet = new TestFleet();

  static Stream<String> policies() {
    return Policies.names().stream();
  }

  /** An engine with an adapter policy over the test fleet. */
  private final class Rig {
    private final AdapterTable table;
    private final RoutingEngine engine;

    Rig(String policy, AdapterSettings settings) {
      table = new AdapterTable(settings);
      fleet.fleet.listen(table);
      PolicyParts parts =
          new PolicyParts(
              fleet::now,
              fleet.random,
              FleetSettings.DEFAULTS.maxWorkers(),
              PolicySettings.DEFAULTS);
      Tiers tiers = new Tiers(LocalitySettings.OFF, settings, table, fleet.random);
      engine =
          new RoutingEngine(
              fleet.fleet,
              tiers.around(Policies.create(policy, parts)),
              new EngineSettings(UnknownModel.BASE_MODEL),
              new RecordedEvents(),
              fleet::now,
              fleet.random);
    }

    Lease routed(String model, int session) {
      fleet.clock.advance(Duration.ofMillis(1));
      RoutingRequest request =
          RoutingRequest.builder()
              .model(model)
              .affinity(new AffinityKey(AffinityKey.Kind.SESSION, "test", "s" + session))
              .build();
      return switch (engine.decide(request)) {
        case Decision.Routed(Lease lease) -> lease;
        case Decision.Rejected rejected -> throw new AssertionError(rejected);
      };
    }

    /** A request that ends at once. */
    Worker served(String model, int session) {
      Lease lease = routed(model, session);
      lease.succeeded();
      return lease.worker();
    }
  }

  private Worker worker(String id, int most, String... models) {
    return fleet.add(TestFleet.spec(id, models).withMaxInFlight(most));
  }

  private void workers(int count, int most) {
    for (int i = 0; i < count; i++) {
      worker("w" + i, most, BASE);
    }
  }

  @ParameterizedTest
  @MethodSource("policies")
  void adapterStaysOnTheWorkerOfItsFirstRequest(String policy) {
    workers(4, 0);
    Rig rig = new Rig(policy, AdapterSettings.DEFAULTS);
    Worker first = rig.served("base:a", 0);

    for (int i = 0; i < MANY; i++) {
      assertThat(rig.served("base:a", i)).isSameAs(first);
    }
  }

  @ParameterizedTest
  @MethodSource("policies")
  void workersThatListTheAdapterArePreferredUpToTheLoadGap(String policy) {
    worker("plain0", 0, BASE);
    Worker listing = worker("listing", 2, BASE, "base:a");
    worker("plain1", 0, BASE);
    Rig rig = new Rig(policy, AdapterSettings.DEFAULTS);

    assertThat(rig.routed("base:a", 1).worker()).isSameAs(listing);
    assertThat(rig.routed("base:a", 2).worker()).isSameAs(listing);
    Worker spilled = rig.routed("base:a", 3).worker();
    assertThat(spilled.id()).startsWith("plain");
    assertThat(rig.table.holders("base:a")).containsExactlyInAnyOrder(listing, spilled);
  }

  @Test
  void anAdapterOnBusyWorkersIsLoadedElsewhere() {
    workers(2, 0);
    Rig rig = new Rig("least_load", new AdapterSettings(3, 16, 100));
    Worker first = rig.served("base:a", 0);

    fleet.load(first, 3);
    assertThat(rig.served("base:a", 0)).isSameAs(first);
    fleet.load(first, 1);
    assertThat(rig.served("base:a", 0)).isNotSameAs(first);
  }

  @Test
  void newAdaptersGoToTheWorkerWithTheFewest() {
    workers(4, 0);
    Rig rig = new Rig("random", AdapterSettings.DEFAULTS);
    Set<Worker> used = new HashSet<>();

    for (int i = 0; i < 4; i++) {
      used.add(rig.served("base:a" + i, 0));
    }

    assertThat(used).hasSize(4);
  }

  @Test
  void requestsForTheBaseModelUseThePolicyOnly() {
    workers(4, 0);
    Rig rig = new Rig("round_robin", AdapterSettings.DEFAULTS);
    rig.served("base:a", 0);
    Set<Worker> used = new HashSet<>();

    for (int i = 0; i < 4; i++) {
      used.add(rig.served(BASE, 0));
    }

    assertThat(used).hasSize(4);
  }

  @Test
  void onlyWorkersOfTheBaseModelServeItsAdapters() {
    worker("other", 0, "other");
    Worker base = worker("base", 0, BASE);
    Rig rig = new Rig("random", AdapterSettings.DEFAULTS);

    for (int i = 0; i < MANY; i++) {
      assertThat(rig.served("base:a" + i, 0)).isSameAs(base);
    }
    RoutingRequest foreign = RoutingRequest.builder().model("none:a").build();
    assertThat(rig.engine.decide(foreign))
        .isEqualTo(new Decision.Rejected(RejectReason.UNKNOWN_MODEL, 0));
  }

  @Test
  void aWorkerKeepsTheMostRecentlyRequestedAdapters() {
    workers(1, 0);
    Rig rig = new Rig("random", new AdapterSettings(0, 2, 100));
    rig.served("base:a", 0);
    rig.served("base:b", 0);
    rig.served("base:a", 0);

    rig.served("base:c", 0);

    assertThat(rig.table.holders("base:a")).hasSize(1);
    assertThat(rig.table.holders("base:b")).isEmpty();
    assertThat(rig.table.holders("base:c")).hasSize(1);
  }

  @Test
  void theNumberOfAdaptersIsBounded() {
    workers(2, 0);
    Rig rig = new Rig("random", new AdapterSettings(0, 1000, 10));

    for (int i = 0; i < 1000; i++) {
      rig.served("base:a" + i, 0);
    }

    assertThat(rig.table.size()).isEqualTo(10);
    assertThat(rig.table.holders("base:a999")).hasSize(1);
    assertThat(rig.table.holders("base:a989")).isEmpty();
    int counted = fleet.fleet.snapshot().workers().stream().mapToInt(rig.table::count).sum();
    assertThat(counted).as("ten adapters and the base model of each").isEqualTo(12);
  }

  @Test
  void aFailureRemovesLearnedAdaptersButNotListedOnes() {
    Worker listing = worker("listing", 0, BASE, "base:a");
    Rig rig = new Rig("random", AdapterSettings.DEFAULTS);

    rig.routed("base:b", 0).failed(Failure.ERROR);
    rig.routed("base:a", 0).failed(Failure.ERROR);

    assertThat(rig.table.holders("base:b")).isEmpty();
    assertThat(rig.table.holders("base:a")).containsExactly(listing);
  }

  @Test
  void aWorkerThatLeavesIsForgotten() {
    workers(2, 0);
    Rig rig = new Rig("random", AdapterSettings.DEFAULTS);
    Worker first = rig.served("base:a", 0);

    fleet.fleet.remove(first.id());

    assertThat(rig.table.holders("base:a")).isEmpty();
    assertThat(rig.served("base:a", 0)).isNotSameAs(first);
  }

  @Test
  void anAdapterThatAWorkerListsLaterIsKnown() {
    workers(3, 0);
    Rig rig = new Rig("random", AdapterSettings.DEFAULTS);
    Worker lists = fleet.worker(2);

    fleet.fleet.learnModels(lists, Set.of(BASE, "base:z"));

    for (int i = 0; i < MANY; i++) {
      assertThat(rig.served("base:z", i)).isSameAs(lists);
    }
    fleet.fleet.learnModels(lists, Set.of(BASE));
    assertThat(rig.table.holders("base:z")).as("learned from the placements").hasSize(1);
  }

  /** Counts the pickers for parts of the fleet, and can delay their construction. */
  private static final class CountingPolicy implements Policy {
    private final AtomicInteger built = new AtomicInteger();
    private final CountDownLatch building = new CountDownLatch(1);
    private final CountDownLatch goOn;
    private final int whole;

    CountingPolicy(int whole, int wait) {
      this.whole = whole;
      goOn = new CountDownLatch(wait);
    }

    @Override
    public Picker picker(Pool pool) {
      if (pool.size() < whole) {
        built.incrementAndGet();
        building.countDown();
        try {
          assertThat(goOn.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
      return (request, now) -> pool.leastLoaded(now, request.tried(), bound -> 0);
    }
  }

  private AdapterTable listed() {
    AdapterTable table = new AdapterTable(AdapterSettings.DEFAULTS);
    fleet.fleet.listen(table);
    return table;
  }

  private static RoutingRequest asking(String model) {
    return RoutingRequest.builder().model(model).build();
  }

  @Test
  void adaptersOnTheSameWorkersShareAPicker() {
    int adapters = 5_000;
    String[] first =
        IntStream.range(0, adapters).mapToObj(i -> "base:x" + i).toArray(String[]::new);
    String[] second =
        IntStream.range(0, adapters).mapToObj(i -> "base:y" + i).toArray(String[]::new);
    worker("one", 0, first);
    worker("two", 0, second);
    worker("three", 0, BASE);
    CountingPolicy inner = new CountingPolicy(3, 0);
    Picker picker =
        new AdapterPolicy(inner, listed(), AdapterSettings.DEFAULTS, fleet.random)
            .picker(fleet.pool());

    for (int round = 0; round < 2; round++) {
      for (int i = 0; i < adapters; i++) {
        assertThat(picker.pick(asking(first[i]), fleet.now())).isSameAs(fleet.worker(0));
        assertThat(picker.pick(asking(second[i]), fleet.now())).isSameAs(fleet.worker(1));
      }
    }

    assertThat(inner.built).hasValue(2);
  }

  @Test
  void noRequestWaitsForAPickerUnderConstruction() throws Exception {
    Worker one = worker("one", 0, BASE, "base:a");
    Worker two = worker("two", 0, BASE, "base:b");
    worker("three", 0, BASE);
    CountingPolicy inner = new CountingPolicy(3, 1);
    Picker picker =
        new AdapterPolicy(inner, listed(), AdapterSettings.DEFAULTS, fleet.random)
            .picker(fleet.pool());
    CompletableFuture<Worker> builder = new CompletableFuture<>();
    Thread.ofVirtual().start(() -> builder.complete(picker.pick(asking("base:a"), fleet.now())));
    assertThat(inner.building.await(60, TimeUnit.SECONDS)).isTrue();

    assertThat(picker.pick(asking("base:b"), fleet.now())).isSameAs(two);
    assertThat(picker.pick(asking("base:a"), fleet.now())).isSameAs(one);
    assertThat(builder).isNotDone();
    assertThat(inner.built).hasValue(1);

    inner.goOn.countDown();
    assertThat(builder.get(60, TimeUnit.SECONDS)).isSameAs(one);
    assertThat(picker.pick(asking("base:b"), fleet.now())).isSameAs(two);
    assertThat(inner.built).hasValue(2);
  }
}
